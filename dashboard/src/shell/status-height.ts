/**
 * Keeps the height of the messages at the top of the window in `--status-height`: other sticky parts stay below them, and
 * the browser scrolls a control that gets the focus below them.
 *
 * @returns a function that stops it
 */
export function keepStatusHeight(status: HTMLElement): () => void {
  const root = document.documentElement
  const observer = new ResizeObserver(() => {
    root.style.setProperty('--status-height', `${status.getBoundingClientRect().height}px`)
    const focused = document.activeElement
    if (!focused?.closest('main') || focused.id === 'main') return
    // A message that appears must not cover the control in which someone types.
    const { top, bottom } = focused.getBoundingClientRect()
    if (bottom > 0 && top < status.getBoundingClientRect().bottom) {
      focused.scrollIntoView({ block: 'nearest' })
    }
  })
  observer.observe(status)
  return () => observer.disconnect()
}
