"""The archive: all messages of `tbmq.msg.all` by date and hour, each once, whatever dies when.

records      which records are archived, and their columns
folder       the files of an archive, on any file system that Spark reaches
commits      which of these files are the archive, and how much of Kafka they hold: one small file a commit
offsets      what of Kafka a batch covers
staging      files on their way: written where nobody looks, then moved
destination  batches, as the supervisor sees them
parquet      into files and commits
compaction   the small files of an hour into large ones, and what nobody needs any more out of the way
delta        or into a table of Delta Lake, whose log is the commits and whose business compaction is
job          the process
"""
