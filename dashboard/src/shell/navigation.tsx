import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Icon } from '../ui/icons.tsx'
import { isAt, type Page } from './lazy-page.ts'

export type NavigationProps = {
  /** Names it for screen readers. */
  label: string
  pages: readonly Page[]
  /** The button of the search. */
  search: ReactNode
  /** The person who is signed in, below the pages. */
  children?: ReactNode
}

/** The navigation: a column at the side, or on a phone behind a button. */
export function Navigation({ label, pages, search, children }: NavigationProps) {
  const [path] = useLocation()
  const [isOpen, setIsOpen] = useState(false)
  const header = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each navigation closes it
  useEffect(() => setIsOpen(false), [path])
  useEffect(() => {
    if (!isOpen) return
    const close = ({ key }: KeyboardEvent) => key === 'Escape' && setIsOpen(false)
    // It covers the page, to which Tab leads.
    const leave = ({ target }: FocusEvent) => {
      if (!header.current!.contains(target as Node)) setIsOpen(false)
    }
    document.addEventListener('keydown', close)
    document.addEventListener('focusin', leave)
    return () => {
      document.removeEventListener('keydown', close)
      document.removeEventListener('focusin', leave)
    }
  }, [isOpen])
  return (
    <header className="side" ref={header}>
      <div className="side-top">
        <Link href="/" className="brand">
          Cardstall
        </Link>
        {search}
        <button
          type="button"
          className="button quiet menu-button"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setIsOpen(!isOpen)}
        >
          <Icon name={isOpen ? 'close' : 'menu'} />
          <span>Menu</span>
        </button>
      </div>
      <div id="navigation" className={isOpen ? 'side-body open' : 'side-body'}>
        <nav aria-label={label}>
          <ul>
            {pages.map((page) => (
              <li key={page.path}>
                <Link
                  href={page.path}
                  // The current page has no navigation that would close the menu.
                  onClick={() => setIsOpen(false)}
                  onPointerEnter={page.Page.preload}
                  aria-current={isAt(path, page) ? 'page' : undefined}
                >
                  <Icon name={page.icon} />
                  {page.title}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        {children && <div className="side-end">{children}</div>}
      </div>
    </header>
  )
}
