/** The internal command that runs one of several processes. Here, because the program's start loads it. */
export const PROCESS_COMMAND = 'serve:process'
