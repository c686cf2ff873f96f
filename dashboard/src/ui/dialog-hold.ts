import { createContext } from 'react'

/** The dialog around a component: whether it is held open, and how a form holds it while it saves. */
export const DialogHold = createContext({ isHeld: false, hold: (_isHeld: boolean) => {} })
