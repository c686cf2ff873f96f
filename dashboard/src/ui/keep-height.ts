/**
 * Keeps the height of an element that stays in the window in a property of the page's styles, such as `--status-height`:
 * other such elements stay beside it, and the browser scrolls a control that gets the focus out from under it.
 *
 * @returns the element's `ref`
 */
export const keepHeight = (property: string) => (element: HTMLElement | null) => {
  if (!element) return
  const observer = new ResizeObserver(() => {
    const place = element.getBoundingClientRect()
    document.documentElement.style.setProperty(property, `${place.height}px`)
    const focused = document.activeElement
    if (!focused?.closest('main') || focused.id === 'main' || element.contains(focused)) return
    // An element that appears must not cover the control in which someone types.
    const { top, bottom, left, right } = focused.getBoundingClientRect()
    const isBeside = left >= place.right || right <= place.left
    if (!isBeside && bottom > place.top && top < place.bottom) {
      focused.scrollIntoView({ block: 'nearest' })
    }
  })
  observer.observe(element)
  return () => observer.disconnect()
}

/** For the bar of the selected rows, which is above the table. */
export const keepBulkHeight = keepHeight('--bulk-height')
