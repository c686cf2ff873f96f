import { SearchFilter } from '../ui/filters.tsx'

type Props = { value: string; onChange: (value: string) => void }

/** The number of a record. Other characters than digits can't be typed, because the API refuses them. */
export const NumberFilter = (props: Props & { label: string }) => (
  <SearchFilter {...props} isNumber />
)

export const AccountFilter = (props: Props) => <NumberFilter label="Seller’s number" {...props} />
