/* oxlint-disable unicorn/require-post-message-target-origin -- a thread's messages, not a window's */
import { Worker } from 'node:worker_threads';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/in-parallel.ts';
import { heapLimits, isHeapFull } from '#shared/thread-memory.ts';

interface Question {
  readonly regex: string;
  readonly text: string;
  /** Its description. */
  readonly rule: string;
}

/** Whether a rule's regular expression (flag `u`) is found in a text. */
export type RuleMatches = (rule: string, regex: string, text: string) => boolean;

interface MatchLimits {
  /** Limit for all questions of one pass. An ordinary expression takes less than a millisecond. */
  readonly milliseconds: number;
  /** Megabytes of the thread's heap, which has a copy of each text. */
  readonly memoryMb: number;
}

const defaultLimits: MatchLimits = { milliseconds: 2_000, memoryMb: 512 };
/** Plans that may wait for their turn: each holds its report meanwhile. */
const mostWaiting = 16;

/**
 * Makes a plan that asks whether operators' regular expressions are found in what machines have reported: another thread
 * answers, which is ended when it takes too long. The plan is made again until all that it asks has been answered.
 * @throws AppError `invalid_argument` naming the rule whose expression takes too long, or when all take too much memory;
 * `unavailable` when too many wait already
 */
export async function planWithMatches<Plan>(
  plan: (matches: RuleMatches) => Plan,
  given: Partial<MatchLimits> = {},
): Promise<Plan> {
  const limits = { ...defaultLimits, ...given };
  const known = new Map<string, Map<string, boolean>>();
  for (;;) {
    const questions: Question[] = [];
    const made = plan((rule, regex, text) => {
      const found = known.get(regex)?.get(text);
      if (found === undefined) questions.push({ regex, text, rule });
      return found ?? false;
    });
    if (questions.length === 0) return made;
    const answers = await inTurn(() => answer(questions, limits));
    questions.forEach(({ regex, text }, index) => {
      const ofRegex = known.get(regex) ?? new Map<string, boolean>();
      known.set(regex, ofRegex.set(text, answers[index] ?? false));
    });
  }
}

/** One core is left to everybody else. */
const inTurn = limitAtOnce({
  most: 1,
  waiting: {
    most: mostWaiting,
    refusal: () => new AppError('unavailable', 'inspection rules are being applied to others; try again in a minute'),
  },
});

async function answer(
  questions: readonly Question[],
  { milliseconds, memoryMb }: MatchLimits,
): Promise<readonly boolean[]> {
  const answers: boolean[] = [];
  const worker = new Worker(`(${answerAll.toString()})()`, {
    eval: true,
    env: {},
    execArgv: [],
    name: 'inspection rules',
    workerData: questions,
    resourceLimits: heapLimits(memoryMb),
  });
  const over = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  worker.on('message', (found: boolean | 'begun') => {
    // the time is the expressions', not that of a busy machine which starts a thread
    // an immediate comes after the answers that this thread had no time to read
    if (found === 'begun') timer = setTimeout(() => setImmediate(over.resolve), milliseconds);
    else answers.push(found);
    if (answers.length === questions.length) over.resolve();
  });
  const tooMuch = `the regular expressions of the rules take more than ${memoryMb} MB of memory on what the machine has reported: no rule is applied`;
  const fail = (cause: Error): void => {
    over.reject(
      isHeapFull(cause)
        ? new AppError('invalid_argument', tooMuch)
        : new AppError('internal', 'match regular expressions', { cause }),
    );
  };
  worker.once('error', fail);
  worker.once('exit', (code) => fail(new AppError('internal', `the thread ended with ${code}`)));
  try {
    await over.promise;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
  const open = questions[answers.length];
  if (open === undefined) return answers;
  throw new AppError(
    'invalid_argument',
    `the regular expression of rule '${open.rule}' takes longer than ${milliseconds / 1000} s on ${open.text.length} ` +
      'characters that the machine has reported: no rule is applied',
  );
}

/** Runs on the other thread, which has nothing of this file. */
function answerAll(): void {
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
  parentPort?.postMessage('begun');
  for (const { regex, text } of workerData as Question[]) parentPort?.postMessage(new RegExp(regex, 'u').test(text));
}
