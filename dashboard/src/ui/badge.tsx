import type { ReactNode } from 'react'

/** `good`: done. `busy`: under way. `warn`: needs attention. `bad`: failed. */
export type Tone = 'neutral' | 'good' | 'busy' | 'warn' | 'bad'

/** A state in one or two words. The colour only repeats what the words say. */
export const Badge = ({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) => (
  <span className={`badge ${tone}`}>{children}</span>
)
