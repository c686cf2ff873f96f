import { useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'

type TabLink = { href: string; label: string }

/** The parts of a page, each at its own address. */
export function Tabs({ label, tabs }: { label: string; tabs: TabLink[] }) {
  const [path] = useLocation()
  const nav = useRef<HTMLElement>(null)
  // On a phone the tabs can be wider than the page, whose scrollbar appears after its content.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each navigation may choose another tab
  useEffect(() => {
    const frame = nav.current
    const current = frame?.querySelector<HTMLElement>('[aria-current]')
    if (!frame || !current) return
    const observer = new ResizeObserver(() => {
      const { offsetLeft, offsetWidth } = current
      frame.scrollLeft = offsetLeft - (frame.clientWidth - offsetWidth) / 2
    })
    observer.observe(frame)
    return () => observer.disconnect()
  }, [path])
  return (
    <nav className="tabs" aria-label={label} ref={nav}>
      {tabs.map(({ href, label: text }) => (
        <Link key={href} href={href} aria-current={path === href ? 'page' : undefined}>
          {text}
        </Link>
      ))}
    </nav>
  )
}
