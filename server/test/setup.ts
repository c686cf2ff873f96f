import { afterAll } from 'vitest'
import { cleanUpFile } from './when-file-ends.ts'

// Vitest runs this before each test file, and its hook after those of the file.
afterAll(cleanUpFile)
