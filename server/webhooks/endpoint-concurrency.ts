/** Attempts at a time that an endpoint begins with, and the most that it can come to. In one process. */
export const FIRST_PLACES = 2
export const MAX_PLACES = 32
/** So many more of a quick endpoint's are claimed and wait here: to ask for few at a time would cost more than sending. */
const AHEAD = 224
/** They don't wait for longer than this, real time: their endpoint may be gone, or another process have room. */
const MAX_WAIT_MS = 1_000
/** Real time. Then its queue is looked at from the beginning again: something may have been given back. */
const FROM_THE_BEGINNING_EVERY_MS = 1_000
/** Real time. An endpoint that has rested for longer begins anew. */
const REMEMBERED_MS = 10_000

/**
 * How many attempts at a time each endpoint gets. One that answers well gets one place more with each delivery; after
 * a failure it's back at the beginning. So an endpoint that never answers holds two of the process's hands, however
 * much waits for it, and a small shop isn't overrun at once.
 */
export type Pace = {
  /** How many each endpoint may be claimed now; those that aren't listed may have `FIRST_PLACES`. */
  room(): Room
  /** The same for those alone that have room and of which more is likely to be waiting. */
  roomForMore(): Room
  /**
   * Notes what was claimed, of those that there was room for.
   *
   * @param isFull the claim took all that it may: there may be more of each
   */
  claimed(claimed: Claimed[], room: Room, isFull: boolean): void
  /** Whether there is room for something that is likely to be waiting. */
  hasRoom(): boolean
  /** Waits for a place. False: it had better be given back. */
  turn(endpointId: number): Promise<boolean>
  /** One was given back: there is more of that endpoint, and it isn't where the queue was left. */
  gaveBack(endpointId: number): void
  /** One that was claimed is over without having needed a place. */
  pass(endpointId: number): void
  /** Gives back all that wait for a place: what they're claimed by may have changed. */
  putBack(): void
  /** Something that had a place is over. */
  end(endpointId: number, outcome: 'answered well' | 'failed' | 'not tried'): void
}

export type Room = {
  endpointIds: number[]
  places: number[]
  /** What has been claimed of each so far, in the order of the queue: it's gone on after this. */
  after: (Reached | undefined)[]
}

type Claimed = { endpointId: number; dueAt: Date; id: number }
type Reached = Pick<Claimed, 'dueAt' | 'id'>

type TransactionConnection = {
  places: number
  underWay: number
  /** Claimed and not over: those under way, and those that wait for a place. */
  held: number
  waiting: ((isTurn: boolean) => void)[]
  /** It has come to all its places, and keeps up. */
  isQuick: boolean
  /** How far its queue was claimed, since when: what is done lies before that, and would be walked over each time. */
  reached: (Reached & { since: number }) | undefined
  usedAt: number
}

export function startPace(): Pace {
  const lanes = new Map<number, TransactionConnection>()
  /** Of which more may be waiting: the last claim found as many as there was room for. */
  const unfinished = new Set<TransactionConnection>()

  const laneOf = (endpointId: number): TransactionConnection => {
    let lane = lanes.get(endpointId)
    if (!lane) {
      lane = {
        places: FIRST_PLACES,
        underWay: 0,
        held: 0,
        waiting: [],
        isQuick: false,
        reached: undefined,
        usedAt: 0,
      }
      lanes.set(endpointId, lane)
    }
    return lane
  }

  const forgetRested = () => {
    const before = performance.now() - REMEMBERED_MS
    for (const [id, lane] of lanes) {
      if (lane.held > 0 || lane.usedAt >= before) continue
      lanes.delete(id)
      unfinished.delete(lane)
    }
  }

  const finish = (lane: TransactionConnection) => {
    unfinished.delete(lane)
    lane.reached = undefined
  }

  const roomOf = (some: [number, TransactionConnection][]): Room => {
    const longAgo = performance.now() - FROM_THE_BEGINNING_EVERY_MS
    for (const [, lane] of some) {
      if (lane.reached && lane.reached.since < longAgo) lane.reached = undefined
    }
    return {
      endpointIds: some.map(([id]) => id),
      places: some.map(([, lane]) => roomIn(lane)),
      after: some.map(([, { reached }]) => reached),
    }
  }

  return {
    room() {
      forgetRested()
      return roomOf([...lanes])
    },

    roomForMore() {
      return roomOf([...lanes].filter(([, lane]) => unfinished.has(lane) && roomIn(lane) > 0))
    },

    claimed(claimed, room, isFull) {
      const byEndpoint = Map.groupBy(claimed, ({ endpointId }) => endpointId)
      for (const [i, id] of room.endpointIds.entries()) {
        const lane = laneOf(id)
        if (isFull || (byEndpoint.get(id)?.length ?? 0) === room.places[i]) unfinished.add(lane)
        else finish(lane)
      }
      for (const [id, ones] of byEndpoint) {
        if (!lanes.has(id) && (isFull || ones.length === FIRST_PLACES)) unfinished.add(laneOf(id))
        const lane = laneOf(id)
        lane.held += ones.length
        if (unfinished.has(lane)) {
          lane.reached = { ...lastOf(ones), since: lane.reached?.since ?? performance.now() }
        }
      }
    },

    hasRoom() {
      for (const lane of unfinished) if (roomIn(lane) > 0) return true
      return false
    },

    turn(endpointId) {
      const lane = laneOf(endpointId)
      if (lane.underWay < lane.places) {
        lane.underWay++
        return Promise.resolve(true)
      }
      return new Promise((resolve) => {
        const timer = setTimeout(() => {
          // It doesn't keep up, so nothing is taken ahead for it.
          lane.isQuick = false
          lane.waiting = lane.waiting.filter((other) => other !== told)
          told(false)
        }, MAX_WAIT_MS)
        const told = (isTurn: boolean) => {
          clearTimeout(timer)
          if (isTurn) lane.underWay++
          else lane.held--
          resolve(isTurn)
        }
        lane.waiting.push(told)
      })
    },

    gaveBack(endpointId) {
      const lane = laneOf(endpointId)
      lane.reached = undefined
      unfinished.add(lane)
    },

    pass(endpointId) {
      laneOf(endpointId).held--
    },

    putBack() {
      for (const { waiting } of lanes.values()) for (const told of waiting.splice(0)) told(false)
    },

    end(endpointId, outcome) {
      const lane = lanes.get(endpointId)!
      lane.underWay--
      lane.held--
      lane.usedAt = performance.now()
      if (outcome === 'answered well') {
        lane.places = Math.min(lane.places + 1, MAX_PLACES)
        lane.isQuick = lane.places === MAX_PLACES
      }
      if (outcome === 'failed') {
        lane.places = FIRST_PLACES
        lane.isQuick = false
        for (const told of lane.waiting.splice(0)) told(false)
      }
      while (lane.underWay < lane.places && lane.waiting.length > 0) lane.waiting.shift()!(true)
    },
  }
}

/** Of a quick one none until half of what it may have is over: few at a time aren't worth the asking. */
function roomIn({ places, held, isQuick }: TransactionConnection): number {
  if (!isQuick) return Math.max(places - held, 0)
  const most = places + AHEAD
  return held <= most / 2 ? most - held : 0
}

const lastOf = (claimed: Claimed[]): Reached =>
  claimed.reduce((last, one) =>
    one.dueAt > last.dueAt || (one.dueAt.getTime() === last.dueAt.getTime() && one.id > last.id)
      ? one
      : last,
  )
