import { type RefObject, useEffect, useRef } from 'react'

/** Whether the component is still on the page, for the end of an action that outlives it. */
export function useIsShown(): RefObject<boolean> {
  const isShown = useRef(true)
  useEffect(() => {
    isShown.current = true
    return () => {
      isShown.current = false
    }
  }, [])
  return isShown
}
