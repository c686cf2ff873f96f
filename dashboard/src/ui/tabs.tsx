import { Link, useLocation } from 'wouter'

export type TabLink = { href: string; label: string }

/** The parts of a page, each at its own address. */
export function Tabs({ label, tabs }: { label: string; tabs: TabLink[] }) {
  const [path] = useLocation()
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ href, label: text }) => (
        <Link key={href} href={href} aria-current={path === href ? 'page' : undefined}>
          {text}
        </Link>
      ))}
    </nav>
  )
}
