import { useState } from 'react'
import { notifyFailure } from './toast.tsx'

/** The props of a button that starts an action: it is pending meanwhile, and a message shows why the action has failed. */
export function useAction(act: () => Promise<unknown>): {
  isPending: boolean
  onPress: () => Promise<void>
} {
  const [isPending, setIsPending] = useState(false)
  const onPress = async () => {
    setIsPending(true)
    try {
      await act()
    } catch (error) {
      notifyFailure(error)
    } finally {
      setIsPending(false)
    }
  }
  return { isPending, onPress }
}
