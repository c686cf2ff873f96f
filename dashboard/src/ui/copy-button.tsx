import { useEffect, useState } from 'react'
import { Button } from './button.tsx'
import { notify } from './toast.tsx'

const CONFIRMED_MS = 2_000

/** Copies a text to the clipboard, and says so. */
export function CopyButton({ text }: { text: string }) {
  const [isCopied, setIsCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(setIsCopied, CONFIRMED_MS, false)
    return () => clearTimeout(timer)
  }, [isCopied])

  async function copy() {
    try {
      await navigator.clipboard.writeText(text)
      setIsCopied(true)
    } catch {
      // A page without https has no clipboard.
      notify('Your browser does not allow copying here: select the text instead.', {
        isFailure: true,
      })
    }
  }

  return (
    <Button size="small" icon={isCopied ? 'check' : 'copy'} onPress={copy}>
      <span aria-live="polite">{isCopied ? 'Copied' : 'Copy'}</span>
    </Button>
  )
}
