import { type ReactNode, useId } from 'react'

/** A part of a page with a heading, on a card. */
export function Section({
  title,
  children,
  actions,
  help,
}: {
  title: string
  children: ReactNode
  actions?: ReactNode
  help?: ReactNode
}) {
  const id = useId()
  return (
    <section className="section" aria-labelledby={id}>
      <header className="section-header">
        <div>
          <h2 id={id}>{title}</h2>
          {help && <p className="help">{help}</p>}
        </div>
        {actions && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}

/** Names and values of one record. */
export const Facts = ({ facts }: { facts: { label: string; value: ReactNode }[] }) => (
  <dl className="facts">
    {facts.map(({ label, value }) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)
