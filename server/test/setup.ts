import { afterAll } from 'vitest'
import { cleanUpFile } from './when-file-ends.ts'

// Vitest runs this module before each test file, and its hook after the hooks of the file.
afterAll(cleanUpFile)
