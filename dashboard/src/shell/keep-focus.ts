/** React Aria returns the focus in the frame after a dialog or menu has closed. */
const RETURNED_MS = 100

/**
 * Keeps the keyboard's place when the focused control disappears, as a row does after its deletion and a button whose
 * action is done. The browser would begin again at the top of the page. The focus goes to the control that opened a dialog
 * or menu; if that is gone as well, to the heading of the part of the page that it was in.
 *
 * @returns a function that stops it
 */
export function keepFocus(): () => void {
  /** The control in the page that last had the focus, and the elements around it. */
  let place: Element[] = []
  let timer = 0

  const remember = ({ target }: FocusEvent) => {
    if (target instanceof Element && target.closest('main')) place = ancestorsOf(target)
  }
  // A click elsewhere gives the focus up on purpose.
  const forget = () => {
    place = []
  }
  const restore = () => {
    if (document.activeElement !== document.body || place.length === 0) return
    const [control] = place
    const headingNearby = () =>
      place
        .filter(({ isConnected }) => isConnected)
        .map((element) => element.querySelector<HTMLElement>('h1, h2'))
        .find((heading) => heading !== null)
    const target = control?.isConnected ? (control as HTMLElement) : headingNearby()
    if (!target) return
    if (/^H\d$/.test(target.tagName)) target.tabIndex = -1
    target.focus({ preventScroll: true })
  }
  const changes = new MutationObserver(() => {
    clearTimeout(timer)
    timer = window.setTimeout(restore, RETURNED_MS)
  })

  document.addEventListener('focusin', remember)
  document.addEventListener('pointerdown', forget)
  changes.observe(document.body, { childList: true, subtree: true })
  return () => {
    document.removeEventListener('focusin', remember)
    document.removeEventListener('pointerdown', forget)
    changes.disconnect()
    clearTimeout(timer)
  }
}

function ancestorsOf(element: Element): Element[] {
  const around: Element[] = []
  for (let at: Element | null = element; at && at !== document.body; at = at.parentElement) {
    around.push(at)
  }
  return around
}
