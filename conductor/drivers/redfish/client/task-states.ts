import { bmcMessage, withoutImages } from '#conductor/drivers/redfish/client/errors.ts';
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

/** `failed` carries the BMC's words. */
export type TaskLook =
  | { readonly state: 'pending' | 'running' | 'done'; readonly percent: number | undefined }
  | { readonly state: 'failed'; readonly why: string };

/**
 * Judges what a BMC answered about a task: a monitor's 202 is a task at work, a task itself is always 200 and says how it
 * is; what a monitor answers without a task in it is the answer of the operation, which has ended (DSP0266, asynchronous
 * operations). Only `Completed` with a good status is success; a word that nobody has defined is no end.
 */
export function lookAtTask({ status, body }: Pick<RedfishAnswer, 'status' | 'body'>): TaskLook {
  const task = Task.safeParse(body).data;
  const word = task?.TaskState ?? undefined;
  const percent = task?.PercentComplete ?? undefined;
  // a page is no answer of any operation
  const isAnswer = status !== 202 && typeof body !== 'string';
  if (word === undefined) return { state: isAnswer ? 'done' : 'running', percent };
  const phase = Object.hasOwn(phases, word) ? phases[word as TaskState] : 'running';
  if (phase === 'pending' || phase === 'running') return { state: phase, percent };
  const messages = task?.Messages ?? [];
  const isBad = task?.TaskStatus
    ? !['OK', 'Warning'].includes(task.TaskStatus)
    : messages.some(({ Severity, MessageSeverity }) => (MessageSeverity ?? Severity) === 'Critical');
  if (phase === 'completed' && !isBad) return { state: 'done', percent };
  const words = messages.map(({ Message: message, MessageId: id }) => message ?? id ?? '');
  const text = withoutImages(words.filter(Boolean).join(' ')) || bmcMessage(body);
  const ended = phase === 'completed' ? `${word} with status ${task?.TaskStatus ?? 'Critical'}` : word;
  return { state: 'failed', why: `the BMC's task ended as ${ended}${text ? `: ${text}` : ''}` };
}

export function isOpen({ state }: TaskLook): boolean {
  return state === 'pending' || state === 'running';
}
