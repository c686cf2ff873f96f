import { type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { Icon } from './icons.tsx'
import { type TabLink, Tabs } from './tabs.tsx'

let isFirstPage = true

/** The page at an address that leads to nothing. */
export const NoSuchPage = () => (
  <PageHeader title="There is no such page">The address may be old or mistyped.</PageHeader>
)

/**
 * The heading of a page with its actions and tabs. Sets the document's title. After a navigation the heading gets the
 * focus, so that a screen reader says where it is: both name the tab, unless it is the first one.
 */
export function PageHeader({
  title,
  children,
  actions,
  back,
  tabs,
}: {
  title: string
  /** One line below the title. */
  children?: ReactNode
  actions?: ReactNode
  /** The list that this record belongs to. */
  back?: { href: string; label: string }
  tabs?: TabLink[] | undefined
}) {
  const heading = useRef<HTMLHeadingElement>(null)
  const [path] = useLocation()
  const tab = tabs?.slice(1).find(({ href }) => href === path)
  const name = tab ? `${tab.label} · ${title}` : title
  useEffect(() => {
    document.title = `${name} – Cardstall`
  }, [name])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new path is a navigation
  useEffect(() => {
    if (!isFirstPage) heading.current?.focus()
    isFirstPage = false
  }, [path])
  return (
    <>
      <header className="page-header">
        {back && (
          <Link href={back.href} className="back">
            <Icon name="left" />
            {back.label}
          </Link>
        )}
        <div className="page-title">
          <h1 ref={heading} tabIndex={-1}>
            {title}
            {tab && <span className="visually-hidden"> · {tab.label}</span>}
          </h1>
          {actions && <div className="page-actions">{actions}</div>}
        </div>
        {children && <p className="lead">{children}</p>}
      </header>
      {tabs && <Tabs label={title} tabs={tabs} />}
    </>
  )
}
