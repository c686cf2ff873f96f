import type { PressEvent } from 'react-aria-components'

/** The longest time between the two presses of a double click. */
const DOUBLE_CLICK_MS = 500

let pressedAt = 0

/**
 * Ignores the second press of a double click on a button that removes its row without a question: the next row may have
 * moved under the pointer.
 */
export const unlessDoubleClick =
  (act: () => unknown) =>
  ({ pointerType }: PressEvent) => {
    const isSecond = pointerType !== 'keyboard' && Date.now() - pressedAt < DOUBLE_CLICK_MS
    if (pointerType !== 'keyboard') pressedAt = Date.now()
    if (!isSecond) act()
  }
