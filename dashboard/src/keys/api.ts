import { useMutation, useQuery } from '@tanstack/react-query'
import type { KeyRecord, NewKeyRecord } from '../../../server/http/dashboard/keys.ts'
import type { ProgramRecord } from '../../../server/http/dashboard/programs.ts'
import type { SessionRecord } from '../../../server/http/dashboard/sessions.ts'
import type { Data } from '../api.ts'
import { get, post, remove } from '../client.ts'
import { queryClient } from '../query-client.ts'
import { notifyFailure } from '../ui/toast.tsx'

export type { KeyRecord, NewKeyRecord, ProgramRecord, SessionRecord }

const KEYS = ['keys']
const PROGRAMS = ['programs']
const SESSIONS = ['sessions']
const readKeys = () => queryClient.invalidateQueries({ queryKey: KEYS })
const readPrograms = () => queryClient.invalidateQueries({ queryKey: PROGRAMS })
const readSessions = () => queryClient.invalidateQueries({ queryKey: SESSIONS })

export const useKeys = () =>
  useQuery({
    queryKey: KEYS,
    queryFn: () => get<Data<KeyRecord[]>>('keys'),
    select: ({ data }) => data,
  })

export type KeyInput = { name: string | null; scopes: string[] }

// Both read the keys again after an error too: if only the response was lost, the list shows it.
export const createKey = (key: KeyInput, idempotencyKey: string) =>
  post<NewKeyRecord>('keys', key, { idempotencyKey }).finally(() => void readKeys())

export const rotateKey = ({ id }: KeyRecord, idempotencyKey: string) =>
  post<NewKeyRecord>(`keys/${id}/rotate`, undefined, { idempotencyKey }).finally(
    () => void readKeys(),
  )

export async function revokeKey({ id }: KeyRecord) {
  await remove(`keys/${id}`)
  await readKeys()
}

export const usePrograms = () =>
  useQuery({
    queryKey: PROGRAMS,
    queryFn: () => get<Data<ProgramRecord[]>>('programs'),
    select: ({ data }) => data,
  })

export const useEndProgram = () =>
  useMutation({
    mutationFn: ({ id }: ProgramRecord) => remove(`programs/${id}`),
    onSuccess: readPrograms,
    onError: notifyFailure,
  })

export async function endPrograms() {
  await remove('programs')
  await readPrograms()
}

export const useSessions = () =>
  useQuery({
    queryKey: SESSIONS,
    queryFn: () => get<Data<SessionRecord[]>>('sessions'),
    select: ({ data }) => data,
  })

export const useEndSession = () =>
  useMutation({
    mutationFn: ({ id }: SessionRecord) => remove(`sessions/${id}`),
    onSuccess: readSessions,
    onError: notifyFailure,
  })

export async function endOtherSessions() {
  await remove('sessions')
  await readSessions()
}
