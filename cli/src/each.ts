import { AuthenticationError, ConnectionError } from '@cardstall/sdk'
import { endProgress, printable } from './output.ts'
import { CommandError, requestOf, type Session } from './session.ts'

/** Handles records one by one. A refused one does not stop the others; the exit code says that there was one. */
export async function each(ids: number[], handle: (id: number) => Promise<void>): Promise<void> {
  let failed = 0
  for (const id of ids) {
    try {
      await handle(id)
    } catch (error) {
      if (ids.length === 1) throw error
      if (error instanceof ConnectionError) error.message = `${id}: ${error.message}`
      // Every other id would fail for the same reason.
      if (isGeneral(error)) throw error
      failed++
      endProgress()
      process.stderr.write(`${id}: ${printable((error as Error).message)}${requestOf(error)}\n`)
    }
  }
  if (failed > 0) throw new CommandError(`${failed} of ${ids.length} failed.`)
}

/** Handles records one by one, and says so: a sentence for each, or their ids as JSON. */
export async function eachNoted(
  session: Session,
  ids: number[],
  { handle, text }: { handle: (id: number) => Promise<unknown>; text: (id: number) => string },
): Promise<void> {
  const handled: { id: number }[] = []
  try {
    await each(ids, async (id) => {
      await handle(id)
      handled.push({ id })
      session.out.note(text(id))
    })
  } finally {
    session.out.json(handled)
  }
}

const isGeneral = (error: unknown) =>
  error instanceof AuthenticationError || error instanceof ConnectionError
