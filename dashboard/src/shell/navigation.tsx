import { useEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { Me } from '../../../server/http/dashboard/me.ts'
import { SERVICE } from '../base.ts'
import { PAGES } from '../pages.ts'
import { Button } from '../ui/button.tsx'
import { Icon } from '../ui/icons.tsx'

/** The navigation: a column at the side, or on a phone behind a button. */
export function Navigation({ me }: { me: Me | undefined }) {
  const [path] = useLocation()
  const [isOpen, setIsOpen] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each navigation closes it
  useEffect(() => setIsOpen(false), [path])
  useEffect(() => {
    if (!isOpen) return
    const close = ({ key }: KeyboardEvent) => key === 'Escape' && setIsOpen(false)
    document.addEventListener('keydown', close)
    return () => document.removeEventListener('keydown', close)
  }, [isOpen])
  return (
    <header className="side">
      <div className="side-top">
        <Link href="/" className="brand">
          Cardstall
        </Link>
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
        <nav aria-label="Dashboard">
          <ul>
            {PAGES.map((page) => (
              <li key={page.path}>
                <Link href={page.path} aria-current={isAt(path, page.path) ? 'page' : undefined}>
                  <Icon name={page.icon} />
                  {page.title}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        {me && (
          <div className="side-end">
            <p className="shop" title={me.account.shop_name}>
              {me.account.shop_name}
            </p>
            <p className="help">{me.email}</p>
            <ul>
              <li>
                <a href={me.shop_url}>
                  <Icon name="external" />
                  View your shop
                </a>
              </li>
              <li>
                <form method="post" action={`${SERVICE}signout`}>
                  <Button type="submit" look="quiet" icon="signOut">
                    Sign out
                  </Button>
                </form>
              </li>
            </ul>
          </div>
        )}
      </div>
    </header>
  )
}

const isAt = (current: string, path: string) =>
  path === '/' ? current === '/' : current === path || current.startsWith(`${path}/`)
