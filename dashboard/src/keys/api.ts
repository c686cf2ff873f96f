import { useQuery } from '@tanstack/react-query'
import type { KeyRecord, NewKeyRecord } from '../../../server/http/dashboard/keys.ts'
import type { ProgramRecord } from '../../../server/http/dashboard/programs.ts'
import type { SessionRecord } from '../../../server/http/dashboard/sessions.ts'
import type { Data } from '../api.ts'
import { get, post, remove } from '../client.ts'
import { readAfter, readAgain } from '../query-client.ts'

export type { KeyRecord, NewKeyRecord, ProgramRecord, SessionRecord }

const KEYS = ['keys']
const PROGRAMS = ['programs']
const SESSIONS = ['sessions']

export const useKeys = () =>
  useQuery({
    queryKey: KEYS,
    queryFn: () => get<Data<KeyRecord[]>>('keys'),
    select: ({ data }) => data,
  })

export type KeyInput = { name: string | null; scopes: string[] }

// Both read the keys again after an error too: if only the response was lost, the list shows it.
export const createKey = (key: KeyInput, idempotencyKey: string) =>
  post<NewKeyRecord>('keys', key, { idempotencyKey }).finally(() => void readAgain(KEYS))

export const rotateKey = ({ id }: KeyRecord, idempotencyKey: string) =>
  post<NewKeyRecord>(`keys/${id}/rotate`, undefined, { idempotencyKey }).finally(
    () => void readAgain(KEYS),
  )

export const revokeKey = ({ id }: KeyRecord) => readAfter(remove(`keys/${id}`), KEYS)

export const usePrograms = () =>
  useQuery({
    queryKey: PROGRAMS,
    queryFn: () => get<Data<ProgramRecord[]>>('programs'),
    select: ({ data }) => data,
  })

export const endProgram = ({ id }: ProgramRecord) => readAfter(remove(`programs/${id}`), PROGRAMS)

export const endPrograms = () => readAfter(remove('programs'), PROGRAMS)

export const useSessions = () =>
  useQuery({
    queryKey: SESSIONS,
    queryFn: () => get<Data<SessionRecord[]>>('sessions'),
    select: ({ data }) => data,
  })

export const endSession = ({ id }: SessionRecord) => readAfter(remove(`sessions/${id}`), SESSIONS)

export const endOtherSessions = () => readAfter(remove('sessions'), SESSIONS)
