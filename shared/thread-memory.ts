/** Megabytes of a thread's young heap. */
const youngMb = 16;

/** Limits the heap of a thread that works for strangers. @param memoryMb megabytes of its old heap */
export function heapLimits(memoryMb: number): {
  readonly maxOldGenerationSizeMb: number;
  readonly maxYoungGenerationSizeMb: number;
} {
  return { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: youngMb };
}

/** Recognizes the error of a thread whose heap was full. */
export function isHeapFull(error: Error): boolean {
  return 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
