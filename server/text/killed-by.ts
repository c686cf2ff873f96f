/** Linux kills a program with the first when memory runs out. With the second, V8 and Rust give up. */
const OUT_OF_MEMORY: NodeJS.Signals[] = ['SIGKILL', 'SIGABRT']

/** The reason why a build ended by a signal, and its remedy, as a part of a sentence. */
export const killedBy = (signal: NodeJS.Signals): string =>
  OUT_OF_MEMORY.includes(signal)
    ? `it was killed (${signal}), most likely because the machine or container has too little memory; run "npm run build" with more memory or swap, or elsewhere (docs/operating.md#memory)`
    : `it was killed (${signal})`
