import type { ReactNode } from 'react'

/**
 * The icons, drawn for this project on a grid of 24 units with a stroke of 1.75. They are decoration: the control next to
 * an icon has a text or an `aria-label`.
 */
const ICONS = {
  overview: (
    <>
      <rect x="4" y="4" width="7" height="9" rx="1.5" />
      <rect x="4" y="16" width="7" height="4" rx="1.5" />
      <rect x="14" y="4" width="6" height="4" rx="1.5" />
      <rect x="14" y="11" width="6" height="9" rx="1.5" />
    </>
  ),
  orders: (
    <>
      <path d="M4 8.5 12 4l8 4.5v7L12 20l-8-4.5z" />
      <path d="m4 8.5 8 4.5 8-4.5M12 13v7M8 6.2l8 4.6" />
    </>
  ),
  listings: (
    <>
      <rect x="8" y="3.5" width="11" height="15" rx="1.5" />
      <path d="M5 7v12a1.5 1.5 0 0 0 1.5 1.5H15M11.5 7.5h4M11.5 14.5h4" />
    </>
  ),
  payouts: (
    <>
      <path d="M4 9.5 12 4l8 5.5zM5 20h14M6.5 12.5v5M12 12.5v5M17.5 12.5v5" />
    </>
  ),
  keys: (
    <>
      <circle cx="8" cy="15.5" r="4" />
      <path d="m11 12.5 8-8M15.5 8l2.5 2.5M18 5.5l1.5 1.5" />
    </>
  ),
  webhooks: (
    <>
      <path d="M9.2 13.7 12 9a3.7 3.7 0 1 0-4-2.3M14 8.3l2.8 4.9a3.7 3.7 0 1 1-1.5 5M14.5 17H9.2a3.7 3.7 0 1 1-3.4-4.4" />
    </>
  ),
  settings: (
    <>
      <path d="M4 7h9M17 7h3M4 17h3M11 17h9" />
      <circle cx="15" cy="7" r="2" />
      <circle cx="9" cy="17" r="2" />
    </>
  ),
  person: (
    <>
      <circle cx="12" cy="8" r="3.5" />
      <path d="M5 19.5a7 7 0 0 1 14 0" />
    </>
  ),
  star: (
    <path d="m12 4 2.4 5.100 5.600.7-4.100 3.900 1 5.600-4.900-2.700-4.900 2.700 1-5.600L4 9.800l5.600-.7z" />
  ),
  log: <path d="M6 4.500h12v15H6zM9 9h6M9 12.500h6M9 16h3.500" />,
  menu: <path d="M4 7h16M4 12h16M4 17h16" />,
  close: <path d="m6 6 12 12M18 6 6 18" />,
  check: <path d="m5 12.5 4.5 4.5L19 7.5" />,
  minus: <path d="M6 12h12" />,
  plus: <path d="M12 5v14M5 12h14" />,
  copy: (
    <>
      <rect x="9" y="9" width="11" height="11" rx="2" />
      <path d="M15 9V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v7a2 2 0 0 0 2 2h3" />
    </>
  ),
  search: (
    <>
      <circle cx="11" cy="11" r="6" />
      <path d="m15.5 15.5 4.5 4.5" />
    </>
  ),
  more: (
    <>
      <circle cx="5.5" cy="12" r="0.8" />
      <circle cx="12" cy="12" r="0.8" />
      <circle cx="18.5" cy="12" r="0.8" />
    </>
  ),
  external: (
    <path d="M13 5h6v6M19 5l-8.5 8.5M10 6H6.5A1.5 1.5 0 0 0 5 7.5v10A1.5 1.5 0 0 0 6.5 19h10a1.5 1.5 0 0 0 1.5-1.5V14" />
  ),
  warning: <path d="M12 4 3.5 19h17zM12 10v4.5M12 16.8v.2" />,
  info: (
    <>
      <circle cx="12" cy="12" r="8" />
      <path d="M12 11v5M12 8v.2" />
    </>
  ),
  down: <path d="m7 10 5 5 5-5" />,
  up: <path d="m7 14 5-5 5 5" />,
  left: <path d="m14 7-5 5 5 5" />,
  right: <path d="m10 7 5 5-5 5" />,
  signOut: (
    <path d="M10 4.5H6.5A1.5 1.5 0 0 0 5 6v12a1.5 1.5 0 0 0 1.5 1.5H10M14 8l4 4-4 4M18 12H9.5" />
  ),
  refresh: <path d="M19 12a7 7 0 1 1-2.2-5.1M19 4v4h-4" />,
  trash: <path d="M5 7h14M10 7V4.5h4V7M7 7l.8 12.5h8.4L17 7M10.3 10.5v5.5M13.7 10.5v5.5" />,
  edit: <path d="m5 19 .8-3.8L16 5l3 3L8.800 18.200zM13.500 7.500l3 3" />,
  download: <path d="M12 4v11M7.500 10.500 12 15l4.500-4.500M5 19.500h14" />,
  upload: <path d="M12 15V4M7.500 8.500 12 4l4.500 4.500M5 19.500h14" />,
  print: (
    <path d="M7.500 9V4h9v5M7.500 17H5.500A1.500 1.500 0 0 1 4 15.500v-5A1.500 1.500 0 0 1 5.500 9h13a1.500 1.500 0 0 1 1.500 1.500v5a1.500 1.500 0 0 1-1.500 1.500h-2M7.500 14h9v6h-9z" />
  ),
} satisfies Record<string, ReactNode>

export type IconName = keyof typeof ICONS

export const Icon = ({ name }: { name: IconName }) => (
  <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
    {ICONS[name]}
  </svg>
)
