import type { PressEvent } from 'react-aria-components'

/** The longest time between the two presses of a double click. */
const DOUBLE_CLICK_MS = 500

/** The farthest that the pointer moves between the two presses, in CSS pixels. */
const MAX_MOVE_PX = 20

let last = { at: 0, left: 0, top: 0 }

/**
 * Ignores the second press of a double click on a button that removes its row without a question: the next row may have
 * moved under the pointer. A press elsewhere in the window is meant, however soon it comes.
 */
export const unlessDoubleClick =
  (act: () => unknown) =>
  ({ pointerType, target, x, y }: PressEvent) => {
    if (pointerType === 'keyboard') return void act()
    const box = target.getBoundingClientRect()
    const press = { at: Date.now(), left: box.left + x, top: box.top + y }
    const isSecond =
      press.at - last.at < DOUBLE_CLICK_MS &&
      Math.hypot(press.left - last.left, press.top - last.top) <= MAX_MOVE_PX
    last = press
    if (!isSecond) act()
  }
