/** Attempts at a time that an endpoint begins with, and the most that it can come to. In one process. */
export const FIRST_PLACES = 2
export const MOST_PLACES = 32

/**
 * How many attempts at a time each endpoint gets. One that answers well gets one place more with each delivery; after
 * a failure it's back at the beginning. So an endpoint that never answers holds two of the process's hands, however
 * much waits for it, and a small shop isn't overrun at once.
 */
export type Pace = {
  /** Endpoints with something under way, and how many attempts more each may have now. */
  free(): { endpointIds: number[]; places: number[] }
  begin(endpointId: number): void
  end(endpointId: number, outcome: 'answered well' | 'failed' | 'not tried'): void
}

export function startPace(): Pace {
  const lanes = new Map<number, { places: number; underWay: number }>()
  return {
    free() {
      const open = [...lanes]
      return {
        endpointIds: open.map(([id]) => id),
        places: open.map(([, { places, underWay }]) => Math.max(places - underWay, 0)),
      }
    },
    begin(endpointId) {
      const lane = lanes.get(endpointId)
      if (lane) lane.underWay++
      else lanes.set(endpointId, { places: FIRST_PLACES, underWay: 1 })
    },
    end(endpointId, outcome) {
      const lane = lanes.get(endpointId)!
      lane.underWay--
      if (outcome === 'answered well') lane.places = Math.min(lane.places + 1, MOST_PLACES)
      if (outcome === 'failed') lane.places = FIRST_PLACES
      // What is at rest begins anew.
      if (lane.underWay === 0) lanes.delete(endpointId)
    },
  }
}
