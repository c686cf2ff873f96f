/** The parts of the page with input that is not saved. */
export const unsavedInput = () => [...document.querySelectorAll('[data-unsaved]')]

/**
 * Asks before a page is left on which an element with `data-unsaved` has input that is not saved: by a link, by Back, or
 * by closing the tab.
 *
 * @returns a function that stops it
 */
export function askBeforeLeaving(): () => void {
  const beforeUnload = (event: BeforeUnloadEvent) => {
    if (unsavedInput().length > 0) event.preventDefault()
  }
  const navigate = (event: NavigateEvent) => {
    // beforeunload announces another document.
    if (!event.cancelable || event.hashChange || !event.destination.sameDocument) return
    const isBack = event.navigationType === 'traverse'
    const isOtherPage = new URL(event.destination.url).pathname !== location.pathname
    // A dialog covers the links of the page, so the address changes because the dialog is closed.
    const isLost = unsavedInput().some(
      (form) => isBack || (isOtherPage && !form.closest('[role="dialog"]')),
    )
    if (isLost && !window.confirm('Leave this page? What you have typed is not saved.')) {
      event.preventDefault()
    }
  }

  window.addEventListener('beforeunload', beforeUnload)
  window.navigation?.addEventListener('navigate', navigate)
  return () => {
    window.removeEventListener('beforeunload', beforeUnload)
    window.navigation?.removeEventListener('navigate', navigate)
  }
}
