/** One end of the connection between two processes: `process` in a child, the worker in its parent. */
type Port = {
  on(event: 'message' | 'disconnect', listener: (message: unknown) => void): unknown
  send?(message: object, handle: undefined, options: object, sent: () => void): unknown
}

type Message =
  | { type: 'ask'; id: number; question: string; data: unknown }
  | { type: 'answer'; id: number; data: unknown }
  | { type: 'tell'; news: string; data: unknown }

/** Questions that the other process may ask, and news that it may tell. The data is JSON. */
export type Handlers = {
  // biome-ignore lint/suspicious/noExplicitAny: both ends are ours, and the handler names the type
  answers?: Record<string, (data: any) => unknown>
  // biome-ignore lint/suspicious/noExplicitAny: as above
  news?: Record<string, (data: any) => void>
}

export type Channel = {
  /** Resolves with the answer; undefined if there is none within the time, because the other process is busy or gone. */
  ask<T>(question: string, data: unknown, timeoutMs: number): Promise<T | undefined>
  tell(news: string, data: unknown): void
}

/** Exchanges messages with another process of the service. Messages of others on the same connection are ignored. */
export function openChannel(port: Port, { answers = {}, news = {} }: Handlers): Channel {
  const pending = new Map<number, (data: unknown) => void>()
  let lastId = 0

  // With a callback, a connection that has closed meanwhile is not an error: the end of a process is noticed elsewhere.
  const send = (message: Message) => port.send?.(message, undefined, {}, () => {})

  const receive = async (message: Message) => {
    if (message.type === 'answer') return pending.get(message.id)?.(message.data)
    if (message.type === 'tell') return news[message.news]?.(message.data)
    if (message.type !== 'ask') return
    const { id, question } = message
    // A failure is answered with undefined, so that the other process doesn't wait.
    const data = await Promise.try(() => answers[question]?.(message.data)).catch(() => undefined)
    send({ type: 'answer', id, data })
  }
  port.on('message', (message) => {
    if (typeof message === 'object' && message !== null) void receive(message as Message)
  })
  // A process that has ended gives no answer.
  port.on('disconnect', () => {
    for (const settle of [...pending.values()]) settle(undefined)
  })

  return {
    ask(question, data, timeoutMs) {
      const id = ++lastId
      return new Promise((resolve) => {
        const settle = (answer: unknown) => {
          clearTimeout(timer)
          pending.delete(id)
          resolve(answer as never)
        }
        const timer = setTimeout(settle, timeoutMs, undefined)
        pending.set(id, settle)
        send({ type: 'ask', id, question, data })
      })
    },
    tell: (what, data) => send({ type: 'tell', news: what, data }),
  }
}
