import { Menu } from '../ui/menu.tsx'
import { packingUrl } from './api.ts'

/** Opens a page to print in a tab. Without orders, for everything that waits to be shipped. */
export const PrintMenu = ({ label, orders }: { label: string; orders?: number[] }) => (
  <Menu
    label={label}
    text={label}
    entries={[
      entry('Pick list (A4)', packingUrl('pick_list', 'a4', orders)),
      entry('Packing slips (A4)', packingUrl('slips', 'a4', orders)),
      entry('Packing slips (A6)', packingUrl('slips', 'a6', orders)),
    ]}
  />
)

const entry = (label: string, url: string) => ({
  label,
  icon: 'print' as const,
  onAction: () => void window.open(url, '_blank', 'noreferrer'),
})
