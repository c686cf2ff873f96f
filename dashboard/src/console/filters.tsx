import { type FilterProps, SearchFilter } from '../ui/filters.tsx'

/** The number of a record. Other characters than digits can't be typed, because the API refuses them. */
export const NumberFilter = (props: FilterProps & { label: string }) => (
  <SearchFilter {...props} isNumber />
)

export const AccountFilter = (props: FilterProps) => (
  <NumberFilter label="Seller’s number" {...props} />
)
