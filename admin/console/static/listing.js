// A table of objects: each cell a text, perhaps a link or with a tone; each row what can be done with it.
// On narrow screens console.css lays each row out as a card, by the labels that stand in data-label.
export default {
  props: { caption: String, columns: Array, rows: Array, state: Number, actions: Object, empty: String, sorted: String, descending: Boolean },
  emits: ["act", "sort"],
  template: `
    <table class="listing" :class="{ 'listing-acts': hasActions }">
      <caption class="unseen">{{ caption }}</caption>
      <thead>
        <tr>
          <th v-for="column in columns" :key="column.label" scope="col" :class="{ number: column.number }" :aria-sort="order(column)">
            <button v-if="column.sort" type="button" class="sort" @click="$emit('sort', column.sort)">{{ column.label }}</button>
            <template v-else>{{ column.label }}</template>
          </th>
          <th v-if="hasActions" scope="col"><span class="unseen">Actions</span></th>
        </tr>
      </thead>
      <tbody>
        <tr v-for="row in rows" :key="row.key">
          <td v-for="(cell, index) in row.cells" :key="index" :data-label="columns[index].label"
              :class="{ number: columns[index].number, mono: cell.mono, first: index === 0, none: !cell.text }">
            <span class="cell" :class="{ brief: cell.hint }" :title="cell.hint">
              <a v-if="cell.href" :href="cell.href">{{ cell.text }}</a>
              <span v-else-if="cell.tone" class="chip" :class="'chip-' + cell.tone">{{ cell.text }}</span>
              <span v-else>{{ cell.text || "–" }}</span>
              <small v-if="cell.note">{{ cell.note }}</small>
            </span>
          </td>
          <td v-if="hasActions" class="acts">
            <button v-for="name in row.actions" :key="name" type="button" class="act" :class="{ danger: actions[name].danger }"
                    :aria-label="actions[name].label + ': ' + row.title" @click="$emit('act', { state, key: row.key, action: name })">
              {{ actions[name].label }}
            </button>
          </td>
        </tr>
        <tr v-if="!rows.length"><td class="nothing" :colspan="columns.length + (hasActions ? 1 : 0)">{{ empty }}</td></tr>
      </tbody>
    </table>`,
  methods: {
    order(column) {
      if (!column.sort || column.sort !== this.sorted) return undefined;
      return this.descending ? "descending" : "ascending";
    },
  },
  computed: {
    hasActions() {
      return Object.keys(this.actions).length > 0;
    },
  },
};
