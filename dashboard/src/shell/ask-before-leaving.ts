/** The input of each form when it was shown or last saved. */
const savedInput = new WeakMap<HTMLFormElement, string>()

/** Remembers the input of a form as saved. Returns a function that undoes it. */
export function rememberInput(form: HTMLFormElement): () => void {
  const before = savedInput.get(form) ?? ''
  savedInput.set(form, inputOf(form))
  return () => void savedInput.set(form, before)
}

/** An empty field is left out, because it may appear while the form is open. */
const inputOf = (form: HTMLFormElement) =>
  JSON.stringify([...new FormData(form)].filter(([, value]) => value !== ''))

/**
 * The parts of the page, or of an element, with unsaved input: elements with `data-unsaved`, and forms. A form is
 * compared with its saved input, because React Aria changes a checkbox without an event when its label is clicked.
 * `data-loss` of an element says what would be lost instead of typed text.
 */
export const unsavedInput = (within: ParentNode = document) => [
  ...within.querySelectorAll('[data-unsaved]'),
  ...[...within.querySelectorAll('form')].filter(
    (form) => savedInput.has(form) && savedInput.get(form) !== inputOf(form),
  ),
]

/** Whether an element may be closed. Asks the person if it has unsaved input. */
export const mayClose = (element: Element) =>
  unsavedInput(element).length === 0 ||
  window.confirm('Close this dialog? What you have typed is not saved.')

/**
 * Asks before a page with input that is not saved is left: by a link, by Back, or by closing the tab. Call it before the
 * first rendering.
 */
export function askBeforeLeaving(): void {
  window.addEventListener('beforeunload', (event) => {
    if (unsavedInput().length > 0) event.preventDefault()
  })
  // Without the API, `window.navigation` is the element with that id.
  if ('NavigateEvent' in window) askOnNavigate()
  else askOnHistory()
}

function isRefused(url: string | URL, isBack: boolean): boolean {
  const isGone = (input: Element) => {
    // A dialog covers the links of the page, so the address changes because the dialog is closed.
    if (input.closest('[role="dialog"]')) return false
    const partOf = input.closest('table') ? rowsAt : formAt
    return partOf(new URL(url, location.href)) !== partOf(new URL(location.href))
  }
  const lost = unsavedInput().find((input) => isBack || isGone(input))
  if (!lost) return false
  const loss = lost.getAttribute('data-loss') ?? 'What you have typed is not saved.'
  return !window.confirm(`Leave this page? ${loss}`)
}

/**
 * The part of an address that the page's form depends on: the path, and the card to list. The other parameters filter a
 * list.
 */
const formAt = ({ pathname, searchParams }: URL) => `${pathname} ${searchParams.get('item')}`

/** The part of an address that the rows of a list depend on: all but the listing whose dialog is open. */
function rowsAt({ pathname, searchParams }: URL): string {
  searchParams.delete('listing')
  return `${pathname} ${searchParams}`
}

function askOnNavigate() {
  window.navigation.addEventListener('navigate', (event) => {
    // beforeunload announces another document.
    if (!event.cancelable || event.hashChange || !event.destination.sameDocument) return
    if (isRefused(event.destination.url, event.navigationType === 'traverse')) {
      event.preventDefault()
    }
  })
}

/**
 * Safari before 26.2 and Firefox before 147 lack the Navigation API. They report Back and Forward afterwards: a refused
 * step is undone before the router handles it. The position that each entry keeps gives the direction.
 */
function askOnHistory() {
  const { pushState, replaceState } = history
  let position = positionOf(history.state) ?? 0
  let page = ''

  const store = (change: typeof pushState, state: object | null, url?: string | URL | null) => {
    change.call(history, { ...state, position }, '', url)
    page = pageOf(location)
  }
  store(replaceState, history.state)

  history.pushState = (state, _, url) => {
    if (isRefused(url ?? location.href, false)) return
    position++
    store(pushState, state, url)
  }
  history.replaceState = (state, _, url) => {
    if (!isRefused(url ?? location.href, false)) store(replaceState, state, url)
  }

  // The router listens on window too. Chromium calls listeners there in the order in which they were added.
  const step = (event: PopStateEvent) => {
    // A link to a part of the page makes an entry without a position.
    const to = positionOf(event.state) ?? position + 1
    if (to === position) return
    if (pageOf(location) !== page && isRefused(location.href, true)) {
      event.stopImmediatePropagation()
      history.go(position - to)
      return
    }
    position = to
    store(replaceState, event.state)
  }
  window.addEventListener('popstate', step, true)
  const changeHash = (event: HashChangeEvent) => {
    if (positionOf(history.state) !== position) event.stopImmediatePropagation()
  }
  window.addEventListener('hashchange', changeHash, true)
}

const positionOf = (state: { position?: number } | null) => state?.position

/** The address without the part of the page that it leads to. */
const pageOf = ({ pathname, search }: Location) => pathname + search
