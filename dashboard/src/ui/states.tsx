import type { ReactNode } from 'react'
import { ApiError } from '../client.ts'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icons.tsx'

/** Says that there is nothing here, why, and how to begin. */
export const Empty = ({
  title,
  icon,
  children,
  action,
}: {
  title: string
  icon?: IconName
  children?: ReactNode
  action?: ReactNode
}) => (
  <div className="state">
    {icon && <Icon name={icon} />}
    <h2>{title}</h2>
    {children && <div className="prose">{children}</div>}
    {action}
  </div>
)

/** Grey lines in the place of content. They appear only if it takes a moment. */
export const Loading = ({ lines = 5 }: { lines?: number }) => (
  <div className="loading" role="status">
    <span className="visually-hidden">Loading…</span>
    {Array.from({ length: lines }, (_, line) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike
      <div key={line} className="skeleton" aria-hidden="true" />
    ))}
  </div>
)

/**
 * A status that only screen readers have. It stays on the page: they skip a status that appears together with its text.
 */
export const HiddenStatus = ({ children }: { children: ReactNode }) => (
  <p role="status" className="visually-hidden">
    {children}
  </p>
)

/** A status that everybody sees. It stays on the page without its text, for the same reason. */
export const Status = ({ children }: { children: ReactNode }) => (
  <p role="status" className={children ? undefined : 'visually-hidden'}>
    {children}
  </p>
)

/** An error of a read, with a way to repeat it unless that can't help. */
export function ErrorState({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  if (error instanceof ApiError && error.status === 403) {
    return <Empty title="You can’t see this">{error.message}</Empty>
  }
  if (error instanceof ApiError && error.status === 404) {
    return <Empty title="This doesn’t exist">{error.message}</Empty>
  }
  return (
    <div className="state" role="alert">
      <Icon name="warning" />
      <h2>This could not be loaded</h2>
      <p className="prose">{error.message}</p>
      {onRetry && (
        <Button icon="refresh" onPress={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** The part of a query that its states are shown from. */
export type Loadable<T> = { data: T | undefined; error: Error | null; refetch: () => unknown }

/**
 * The content of a query in each of its states. Content that was loaded before stays visible while it's read again, and
 * also if that fails: after a lost connection, the banner says that it may be old.
 */
export function Loaded<T>({
  query,
  lines,
  children,
}: {
  query: Loadable<T>
  /** Lines to show while it loads. */
  lines?: number
  children: (data: T) => ReactNode
}) {
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <ErrorState error={query.error} onRetry={() => query.refetch()} />
  return <Loading lines={lines} />
}
