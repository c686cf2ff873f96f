import { type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { Button } from './button.tsx'
import { Icon } from './icons.tsx'

const TYPING_MS = 300

/** Notifies the search texts, also those that have not taken effect yet, that the filters are cleared. */
const clearing = new EventTarget()

/** The control of a filter. `replace` changes the address without a step for Back, for text that is being typed. */
export type FilterProps = {
  value: string
  onChange: (value: string, options?: { replace: boolean }) => void
}

/** Parameters that say which part of a list is shown. A position belongs to its filters. */
const POSITIONS = ['page', 'after', 'before']

/**
 * Filters and the page of a list, kept in the address: links can be shared, and Back returns to the filters of
 * before. A filter with its default value isn't in the address. A change without a position returns to the first page.
 *
 * A list has one set of them: a second set would write the parameters back that the first has just removed.
 */
export function useFilters<T extends Record<string, string>>(defaults: T) {
  const [search, setSearch] = useSearchParams()
  const filters = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, search.get(name) ?? value]),
  ) as { [name in keyof T]: string }

  const setFilters = (changes: Partial<Record<keyof T, string>>, { replace = false } = {}) =>
    setSearch(
      (current) => {
        const next = new URLSearchParams(current)
        for (const name of POSITIONS) next.delete(name)
        for (const [name, value] of Object.entries(changes) as [string, string][]) {
          if (value === '' || value === defaults[name]) next.delete(name)
          else next.set(name, value)
        }
        return next
      },
      { replace },
    )

  const propsOf = (name: keyof T): FilterProps => ({
    value: filters[name],
    onChange: (value, options) =>
      setFilters({ [name]: value } as Partial<Record<keyof T, string>>, options),
  })

  const isFiltered = Object.entries(defaults).some(
    ([name, value]) => !POSITIONS.includes(name) && filters[name] !== value,
  )
  const clearFilters = () => {
    const before = location.href
    setFilters(Object.fromEntries(Object.keys(defaults).map((name) => [name, ''])) as T)
    // The person may have refused to lose input.
    if (location.href !== before) clearing.dispatchEvent(new Event('clear'))
  }
  return { filters, setFilters, propsOf, isFiltered, clearFilters }
}

/**
 * The address of the current page with other parameters, for a link; `null` removes one. It contains the path, because
 * wouter takes an address without one for the start page.
 */
export function useAddressWith() {
  const [path] = useLocation()
  const [search] = useSearchParams()
  return (changes: Record<string, string | null>): string => {
    const parameters = new URLSearchParams(search)
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) parameters.delete(name)
      else parameters.set(name, value)
    }
    return parameters.size === 0 ? path : `${path}?${parameters}`
  }
}

/** The row of filters above a list. */
export const Filters = ({
  children,
  isFiltered,
  onClear,
}: {
  children: ReactNode
  isFiltered: boolean
  onClear: () => void
}) => (
  <search className="filters">
    {children}
    {isFiltered && (
      <Button look="quiet" onPress={onClear}>
        Clear filters
      </Button>
    )}
  </search>
)

/** A search text, which takes effect shortly after the last key. */
export function SearchFilter({
  label,
  value,
  onChange,
  isNumber,
  maxLength = 254,
}: FilterProps & {
  label: string
  /** Takes digits alone. */
  isNumber?: boolean
  /** As in the API. The default is that of the operator API. */
  maxLength?: number
}) {
  const [text, setText] = useState(value)
  const timer = useRef<number>(undefined)
  // Back, or "Clear filters".
  useEffect(() => setText(value), [value])
  // A layout effect is undone before the code of the next page is loaded. Another effect would be undone later: the typed
  // text would take effect meanwhile, and its address would lead back to this page.
  useLayoutEffect(() => {
    const forget = () => {
      clearTimeout(timer.current)
      setText('')
    }
    clearing.addEventListener('clear', forget)
    return () => {
      clearTimeout(timer.current)
      clearing.removeEventListener('clear', forget)
    }
  }, [])
  return (
    <label className="search">
      <Icon name="search" />
      <span className="visually-hidden">{label}</span>
      <input
        type="search"
        className="input"
        inputMode={isNumber ? 'numeric' : undefined}
        placeholder={label}
        maxLength={maxLength}
        value={text}
        onChange={({ target }) => {
          const typed = isNumber ? target.value.replace(/\D/g, '') : target.value
          setText(typed)
          clearTimeout(timer.current)
          timer.current = window.setTimeout(() => {
            const before = location.href
            onChange(typed, { replace: true })
            // The person has refused to lose input.
            if (location.href === before) setText(value)
          }, TYPING_MS)
        }}
      />
    </label>
  )
}

/** The first and the last day of a period; each may be missing. */
export const PeriodFilter = ({ from, to }: { from: FilterProps; to: FilterProps }) => (
  <>
    <DateFilter label="From" {...from} />
    <DateFilter label="To" {...to} />
  </>
)

/**
 * A calendar date as `2026-03-01`, or nothing. It takes effect as soon as it is complete. While the field keeps the
 * focus, only the first change adds an entry to the history, so that Back undoes a typed date in one step.
 */
function DateFilter({ label, value, onChange }: FilterProps & { label: string }) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const hasChanged = useRef(false)
  // A value of React's would empty the field while the date is incomplete.
  useLayoutEffect(() => {
    if (input.current!.value === value) return
    // Back, or "Clear filters".
    input.current!.value = value
    hasChanged.current = false
  }, [value])

  const apply = () => {
    const date = input.current!
    // Incomplete, or the year 202 on the way to 2026.
    if (!date.validity.valid || date.value === value) return
    onChange(date.value, { replace: hasChanged.current })
    hasChanged.current = true
  }
  const leave = () => {
    hasChanged.current = false
    if (input.current!.value !== value) input.current!.value = value
  }
  return (
    <div className="field">
      <label htmlFor={id} className="label">
        {label}
      </label>
      <input
        ref={input}
        id={id}
        className="input"
        type="date"
        min="1000-01-01"
        max="9999-12-31"
        defaultValue={value}
        onChange={apply}
        // No browser reports that the last part of an incomplete date is deleted: its value was empty before.
        onKeyUp={apply}
        onBlur={leave}
      />
    </div>
  )
}
