import { bmcMessage, withoutImages } from '#conductor/drivers/redfish/client/errors.ts';
import { isWithoutContent, saysEnd, severityOf } from '#conductor/drivers/redfish/client/message-meaning.ts';
import { Task } from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';

/** Words of DMTF's `Task.TaskState` and `Job.JobState`, then those of Dell's jobs (sushy, oem/dell/resources/taskservice). */
export const taskStates = [
  'New',
  'Pending',
  'Starting',
  'Suspended',
  'Running',
  'Stopping',
  'Cancelling',
  'Service',
  'Interrupted',
  'Continue',
  'UserIntervention',
  'Validating',
  'Completed',
  'Exception',
  'Killed',
  'Cancelled',
  'Invalid',
  'Scheduled',
  'ScheduledWithErrors',
  'ReadyForExecution',
  'RebootPending',
  'PendingActivation',
  'Downloading',
  'Downloaded',
  'Scheduling',
  'Waiting',
  'Paused',
  'RebootCompleted',
  'Unknown',
  'Failed',
  'CompletedWithErrors',
  'RebootFailed',
] as const;
type TaskState = (typeof taskStates)[number];

/** `completed` is success only with the status that goes with it. */
type Phase = 'pending' | 'running' | 'completed' | 'failed';

/**
 * The phase of each state, from the schemas' descriptions: an interrupted task starts again by itself, a service runs
 * until it is stopped. A job that Dell has scheduled for the next reset is `Starting`.
 */
const phases: Readonly<Record<TaskState, Phase>> = {
  New: 'pending',
  Pending: 'pending',
  Starting: 'pending',
  Suspended: 'pending',
  Running: 'running',
  Stopping: 'running',
  Cancelling: 'running',
  Service: 'running',
  Interrupted: 'running',
  Continue: 'running',
  UserIntervention: 'running',
  Validating: 'running',
  Completed: 'completed',
  Exception: 'failed',
  Killed: 'failed',
  Cancelled: 'failed',
  Invalid: 'failed',
  Scheduled: 'pending',
  ScheduledWithErrors: 'pending',
  ReadyForExecution: 'pending',
  RebootPending: 'pending',
  PendingActivation: 'pending',
  Downloading: 'running',
  Downloaded: 'running',
  Scheduling: 'running',
  Waiting: 'running',
  Paused: 'running',
  RebootCompleted: 'running',
  Unknown: 'running',
  Failed: 'failed',
  CompletedWithErrors: 'failed',
  RebootFailed: 'failed',
};

/** `failed` carries the BMC's words; `unclear` = the answer says nothing of the task, nor that it has ended. */
export type TaskLook =
  | { readonly state: 'pending' | 'running' | 'done' | 'unclear'; readonly percent: number | undefined }
  | { readonly state: 'failed'; readonly why: string };

type Answer = Pick<RedfishAnswer, 'status' | 'body'>;

/** Judges the answer to a request itself: without a task in it, and without 202, it is the end of what was asked for. */
export function lookAtAnswer(answer: Answer): TaskLook {
  const look = lookAtTask(answer);
  // a page is no answer of any operation
  const isEnd = look.state === 'unclear' && typeof answer.body !== 'string';
  return isEnd ? { state: 'done', percent: look.percent } : look;
}

/**
 * Judges what a BMC answered about a task: a monitor's 202 is a task at work, a task itself is always 200 and says how it
 * is. A monitor ends by the answer of the operation (DSP0266, asynchronous operations): 204, a message of success, or the
 * resource that was asked for; whatever else has no word of a task in it is no end. Only `Completed` with a good status is
 * success; a word that nobody has defined is no end.
 * @param isResult whether it is the resource that the operation makes or changes
 */
export function lookAtTask({ status, body }: Answer, isResult = false): TaskLook {
  const task = Task.safeParse(body).data;
  const word = task?.TaskState ?? undefined;
  const percent = task?.PercentComplete ?? undefined;
  if (word === undefined) {
    if (status === 202) return { state: 'running', percent };
    const isAnswer = [200, 201].includes(status) && (isSuccess(body) || isResult);
    return { state: status === 204 || isAnswer ? 'done' : 'unclear', percent };
  }
  const ofJob = task?.Oem?.Dell?.JobState ?? undefined;
  const phase = phaseOf(word, ofJob);
  if (phase === 'pending' || phase === 'running') return { state: phase, percent };
  const messages = task?.Messages ?? [];
  const isBad = task?.TaskStatus
    ? !['OK', 'Warning'].includes(task.TaskStatus)
    : messages.some((message) => /^critical$/i.test(severityOf(message) ?? ''));
  if (phase === 'completed' && !isBad) return { state: 'done', percent };
  const words = messages.map(({ Message: message, MessageId: id }) => message ?? id ?? '');
  const text = withoutImages(words.filter(Boolean).join(' ')) || bmcMessage(body);
  const ended = phase === 'completed' ? `${word} with status ${task?.TaskStatus ?? 'Critical'}` : (ofJob ?? word);
  return { state: 'failed', why: `the BMC's task ended as ${ended}${text ? `: ${text}` : ''}` };
}

/** Gives the phase of a task; a completed one is in that of Dell's job beside it, which may be at work still, or have failed. */
function phaseOf(word: string, ofJob: string | undefined): Phase {
  const own = phaseOfWord(word);
  // a job that restarts the machine ends by it
  if (own !== 'completed' || ofJob === undefined || ofJob === 'RebootCompleted') return own;
  return phaseOfWord(ofJob);
}

function phaseOfWord(word: string): Phase {
  return Object.hasOwn(phases, word) ? phases[word as TaskState] : 'running';
}

function isSuccess(body: unknown): boolean {
  return isWithoutContent(body) && saysEnd(body);
}

/** Whether it has not ended, as far as is known. */
export function isOpen({ state }: TaskLook): boolean {
  return state !== 'done' && state !== 'failed';
}
