import { useEffect, useState } from 'react'

const TYPING_MS = 200

/** A text that is being typed, shortly after its last change. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(setSettled, TYPING_MS, text)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
