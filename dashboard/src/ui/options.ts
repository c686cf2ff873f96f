import type { Option } from './fields.tsx'

/** The options of a field, labelled with the API's values themselves. */
export const optionsOf = (values: readonly string[]): Option[] =>
  values.map((value) => ({ value, label: value }))

/** The options of a filter: all, or one of the API's values. */
export const filterOptions = (values: readonly string[]): Option[] => [
  { value: '', label: 'All' },
  ...optionsOf(values),
]
