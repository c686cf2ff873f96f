import { type ReactNode, useState } from 'react'
import { Link, Redirect } from 'wouter'
import type { Paginated } from '../api.ts'
import { classes } from './classes.ts'
import { Checkbox } from './fields.tsx'
import { useAddressWith } from './filters.tsx'
import { formatNumber } from './format.ts'
import { Icon } from './icons.tsx'
import { type Loadable, Loaded, Loading } from './states.tsx'

export type Column<Row> = {
  key: string
  header: string
  cell: (row: Row) => ReactNode
  /** Numbers and amounts. */
  align?: 'end'
  /** Names the row for screen readers: once per table. */
  isRowHeader?: boolean
  /** The header is for screen readers only: actions, pictures. */
  isHeaderHidden?: boolean
}

/** The column of the buttons or the menu of a row: all of it but the cell. */
export const ACTIONS_COLUMN = {
  key: 'actions',
  header: 'Actions',
  isHeaderHidden: true,
  align: 'end',
} as const

/** The rows that bulk actions are about, by their ids. */
type Selection = { keys: ReadonlySet<number>; onChange: (keys: Set<number>) => void }

/** The selection of a table. Rows that are no longer shown leave it: they must not be part of a bulk action. */
export function useSelection(shown: readonly number[]): Selection {
  const [keys, setKeys] = useState<ReadonlySet<number>>(new Set())
  const kept = shown.filter((key) => keys.has(key))
  if (kept.length < keys.size) setKeys(new Set(kept))
  return { keys, onChange: setKeys }
}

/**
 * A table. The server sorts and paginates; see Pagination. It is the browser's own table, because fields and buttons inside
 * are reached with Tab. Where its columns don't fit, as on a phone, each row is a block, with the headers as labels, below
 * the checkbox for all rows.
 */
export function Table<Row extends { id: number }>({
  label,
  columns,
  rows,
  nameOf,
  selection,
  isWide = false,
}: {
  label: string
  columns: Column<Row>[]
  rows: readonly Row[]
  /** Names a row's checkbox. */
  nameOf?: (row: Row) => string
  selection?: Selection
  /** The columns don't fit on a tablet. */
  isWide?: boolean
}) {
  const keys = rows.map(({ id }) => id)
  const selected = selection ? keys.filter((key) => selection.keys.has(key)).length : 0
  const select = (changed: number[], isSelected: boolean) => {
    const next = new Set(selection?.keys)
    for (const key of changed) isSelected ? next.add(key) : next.delete(key)
    selection?.onChange(next)
  }
  return (
    <div className={classes('table-frame', isWide && 'wide')}>
      <table className="table" aria-label={label}>
        <thead>
          <tr>
            {selection && (
              <th scope="col" className="select">
                <Checkbox
                  aria-label="Select all rows of this page"
                  isSelected={selected > 0 && selected === keys.length}
                  isIndeterminate={selected > 0 && selected < keys.length}
                  onChange={(isSelected) => select(keys, isSelected)}
                >
                  <span className="on-phone">Select all</span>
                </Checkbox>
              </th>
            )}
            {columns.map(({ key, header, align, isHeaderHidden }) => (
              <th key={key} scope="col" className={align}>
                <span className={isHeaderHidden ? 'visually-hidden' : undefined}>{header}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const isSelected = selection?.keys.has(row.id)
            return (
              <tr key={row.id} aria-selected={selection ? isSelected : undefined}>
                {selection && (
                  <td className="select">
                    <Checkbox
                      aria-label={`Select ${nameOf?.(row) ?? row.id}`}
                      isSelected={isSelected}
                      onChange={(value) => select([row.id], value)}
                    />
                  </td>
                )}
                {columns.map((column) => {
                  const Cell = column.isRowHeader ? 'th' : 'td'
                  return (
                    <Cell
                      key={column.key}
                      scope={column.isRowHeader ? 'row' : undefined}
                      className={classes(column.align, column.isHeaderHidden && 'plain')}
                      data-label={column.isHeaderHidden ? undefined : column.header}
                    >
                      {column.cell(row)}
                    </Cell>
                  )
                })}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

/**
 * Leads to the top of the page after a press of a link below its rows. The window would show the end of the next rows, and
 * the keyboard would have to go back through all of them.
 */
export function toTop(): void {
  scrollTo(0, 0)
  document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
}

const useAddressOfPage = () => {
  const addressWith = useAddressWith()
  return (number: number) => addressWith({ page: number === 1 ? null : String(number) })
}

/**
 * The page of a list in each of its states, with the links to the other pages. A page after the last one, such as the
 * last one after the deletion of its rows, leads to the last one, unless rows are kept on it.
 */
export function LoadedPage<List extends Paginated<unknown>>({
  query,
  noun,
  children,
}: {
  query: Loadable<List>
  /** The rows in the plural: "payouts". Without it, the children render the Pagination themselves. */
  noun?: string
  children: (list: List) => ReactNode
}) {
  const addressOf = useAddressOfPage()
  return (
    <Loaded query={query}>
      {(list) => {
        const { current_page: page, last_page: last } = list.meta
        if (page <= last || list.data.length > 0) {
          return (
            <>
              {children(list)}
              {/* Also without rows: screen readers skip a status that appears together with its text. */}
              {noun && <Pagination meta={list.meta} noun={noun} />}
            </>
          )
        }
        return (
          <>
            <Redirect key={last} to={addressOf(last)} replace />
            <Loading />
          </>
        )
      }}
    </Loaded>
  )
}

/** The page of a list in the address (`page`), and the links to the other pages. */
export function Pagination({ meta, noun }: { meta: Paginated<unknown>['meta']; noun: string }) {
  const to = useAddressOfPage()
  const { current_page: page, last_page: last, per_page: size, total } = meta
  const first = (page - 1) * size + 1
  // The pages of a long list may reach only its newest rows.
  const isCut = page === last && page * size < total
  return (
    <nav className={total === 0 ? 'visually-hidden' : 'pagination'} aria-label="Pages">
      <p role="status">
        {total === 0 || first > total
          ? `${formatNumber(total)} ${noun}`
          : `${formatNumber(first)}–${formatNumber(Math.min(page * size, total))} of ${formatNumber(total)} ${noun}`}
        {isCut && '. Filter the list to see others.'}
      </p>
      {last > 1 && (
        <div className="page-actions">
          {last > 2 && (
            <PageLink href={to(1)} isPossible={page > 1}>
              First
            </PageLink>
          )}
          <PageLink href={to(page - 1)} isPossible={page > 1}>
            <Icon name="left" />
            Previous
          </PageLink>
          <PageLink href={to(page + 1)} isPossible={page < last}>
            Next
            <Icon name="right" />
          </PageLink>
          {last > 2 && (
            <PageLink href={to(last)} isPossible={page < last}>
              Last
            </PageLink>
          )}
        </div>
      )}
    </nav>
  )
}

const PageLink = ({
  href,
  isPossible,
  children,
}: {
  href: string
  isPossible: boolean
  children: ReactNode
}) =>
  isPossible ? (
    <Link href={href} className="button secondary small" onClick={toTop}>
      {children}
    </Link>
  ) : (
    <button type="button" className="button secondary small" disabled>
      {children}
    </button>
  )
