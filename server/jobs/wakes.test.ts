import { expect, it } from 'vitest'
import { wakesInProcess } from './wakes.ts'

it('a wake reaches whoever listens to the queue, until they no longer do', () => {
  const wakes = wakesInProcess()
  const heard: string[] = []
  wakes.wake('photos')
  const end = wakes.on('photos', () => heard.push('first'))
  wakes.on('photos', () => heard.push('second'))
  wakes.wake('photos')
  end()
  wakes.wakeAll()
  expect(heard).toEqual(['first', 'second', 'second'])
})
