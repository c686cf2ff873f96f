/** Attempts at a time that an endpoint begins with, and the most that it can come to. In one process. */
export const FIRST_PLACES = 2
export const MOST_PLACES = 32
/** So many more of a quick endpoint's are claimed and wait here: to ask for few at a time would cost more than sending. */
const AHEAD = 96
/** They don't wait for longer than this, real time: their endpoint may be gone, or another process have room. */
const MOST_WAIT_MS = 1_000
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
  /** Notes what was claimed, of those that there was room for. */
  claimed(endpointIds: number[], room: Room): void
  /** Whether there is room for something that is likely to be waiting. */
  hasRoom(): boolean
  /** Waits for a place. False: it had better be given back, and is over with that. */
  turn(endpointId: number): Promise<boolean>
  /** An attempt is over, or nobody wanted it. */
  end(endpointId: number, outcome: 'answered well' | 'failed' | 'not tried'): void
}

export type Room = { endpointIds: number[]; places: number[] }

type Lane = {
  places: number
  underWay: number
  /** Claimed and not over: those under way, and those that wait for a place. */
  held: number
  waiting: ((isTurn: boolean) => void)[]
  /** It has come to all its places, and keeps up. */
  isQuick: boolean
  /** The last claim took all there was room for: more is likely to be waiting. */
  hasMore: boolean
  usedAt: number
}

export function startPace(): Pace {
  const lanes = new Map<number, Lane>()

  const laneOf = (endpointId: number): Lane => {
    let lane = lanes.get(endpointId)
    if (!lane) {
      lane = {
        places: FIRST_PLACES,
        underWay: 0,
        held: 0,
        waiting: [],
        isQuick: false,
        hasMore: false,
        usedAt: 0,
      }
      lanes.set(endpointId, lane)
    }
    return lane
  }

  const forgetRested = () => {
    const before = performance.now() - REMEMBERED_MS
    for (const [id, { held, usedAt }] of lanes) {
      if (held === 0 && usedAt < before) lanes.delete(id)
    }
  }

  return {
    room() {
      forgetRested()
      return { endpointIds: [...lanes.keys()], places: [...lanes.values()].map(roomIn) }
    },

    claimed(endpointIds, room) {
      const taken = new Map<number, number>()
      for (const id of endpointIds) taken.set(id, (taken.get(id) ?? 0) + 1)
      for (const [i, id] of room.endpointIds.entries()) {
        const lane = lanes.get(id)
        if (lane && room.places[i]! > 0) lane.hasMore = taken.get(id) === room.places[i]
      }
      for (const [id, count] of taken) {
        const isNew = !lanes.has(id)
        const lane = laneOf(id)
        lane.held += count
        if (isNew) lane.hasMore = count === FIRST_PLACES
      }
    },

    hasRoom: () => [...lanes.values()].some((lane) => lane.hasMore && roomIn(lane) > 0),

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
        }, MOST_WAIT_MS)
        const told = (isTurn: boolean) => {
          clearTimeout(timer)
          if (isTurn) lane.underWay++
          else lane.held--
          resolve(isTurn)
        }
        lane.waiting.push(told)
      })
    },

    end(endpointId, outcome) {
      const lane = lanes.get(endpointId)!
      lane.underWay--
      lane.held--
      lane.usedAt = performance.now()
      if (outcome === 'answered well') {
        lane.places = Math.min(lane.places + 1, MOST_PLACES)
        lane.isQuick = lane.places === MOST_PLACES
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
function roomIn({ places, held, isQuick }: Lane): number {
  if (!isQuick) return Math.max(places - held, 0)
  const most = places + AHEAD
  return held <= most / 2 ? most - held : 0
}
