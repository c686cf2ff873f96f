import { SearchFilter } from '../ui/filters.tsx'

type Props = { value: string; onChange: (value: string) => void }

/** The number of a record. Other characters than digits are left out, because the API refuses them. */
export const NumberFilter = ({ onChange, ...props }: Props & { label: string }) => (
  <SearchFilter {...props} onChange={(text) => onChange(text.replace(/\D/g, ''))} />
)

export const AccountFilter = (props: Props) => <NumberFilter label="Seller’s number" {...props} />
