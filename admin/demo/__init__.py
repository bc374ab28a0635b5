"""The demonstration: real weather of two cities, published by devices on one gateway, checked at nine subscribers."""
