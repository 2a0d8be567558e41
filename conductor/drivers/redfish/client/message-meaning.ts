import type { z } from 'zod';
import { bmcMessage, errorIn, laterIds } from '#conductor/drivers/redfish/client/errors.ts';
import { ErrorBody, ExtendedInfos, type Message, OldError } from '#conductor/drivers/redfish/client/schemas.ts';

/** Messages in an answer of good status are judged by what they say: success, an error, or nothing. */

type Info = Pick<z.infer<typeof Message>, 'MessageId' | 'MessageSeverity' | 'Severity' | 'Message'>;

/** Gives a message's severity, which DMTF has had in two properties; `undefined` = it has none. */
export function severityOf(info: Pick<Info, 'MessageSeverity' | 'Severity'>): string | undefined {
  return info.MessageSeverity ?? info.Severity ?? undefined;
}

/** Names of message ids by which BMCs say that a request has succeeded. */
const successIds = /(^|[.:])(Success|NoOperation|Created|AccountModified|\w*(Reset|Reboot)Required)$/;

/** Names of message ids by which DMTF's registries TaskEvent, JobEvent and Update say that the work has ended well. */
const endedIds = /(^|[.:])((Task|Job)Completed(OK|Warning)|UpdateSuccessful)$/;

/**
 * Names of message ids that have severity `OK` in the same registries
 * (https://github.com/openbmc/bmcweb/tree/master/redfish-core/include/registries), of work that has not ended, or was not done.
 */
const notDoneIds =
  /(^|[.:])((Task|Job)(Started|Resumed|ProgressChanged)|\w*Targets?Determined|UpdateSkipped|\w+(On|At|To)Component|UpdateInProgress|AwaitTo\w+|OperationTransitionedToJob)$/;

/**
 * Whether a document has nothing but an error in it, or nothing at all: with a good status it is no resource, and says
 * nothing of one. What an operation answers that has succeeded may be such an error, by its name.
 */
export function saysNothing(body: unknown): boolean {
  return isWithoutContent(body) && !saysSuccess(body);
}

/**
 * Whether a document has none of a resource's properties, which begin with a capital letter (DSP0266, property names):
 * where it is and of which type says nothing of it, and web servers have errors in words of their own.
 */
export function isWithoutContent(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return false;
  if (OldError.safeParse(body).success) return true;
  return !Object.keys(body).some((key) => /^[A-Z]/.test(key) && !key.endsWith('@Message.ExtendedInfo'));
}

/** Whether one of the known names says success, with no error beside it, or else each message does. */
function saysSuccess(body: unknown): boolean {
  const { code, all } = messagesIn(body);
  if (all.length === 0) return successIds.test(code ?? '');
  const isNamed = [code, ...all.map((info) => info.MessageId)].some((id) => successIds.test(id ?? ''));
  return all.every((info) => isOfSuccess(info) || (isNamed && isHarmless(info)));
}

/**
 * Whether the answer to a request is an error alone that takes back its good status: by its severity, by an id of DMTF's
 * Base registry or of the table of "later", or as an error without messages. A maker's own message without a severity does
 * not: iLO answers the reset of itself with `iLO.2.14.ResetInProgress`
 * (https://github.com/Cray-HPE/docs-csm/blob/main/operations/node_management/Add_Remove_Replace_NCNs/Add_Remove_Replace_NCNs.md).
 */
export function saysError(body: unknown): boolean {
  if (bmcMessage(body) === '' || !saysNothing(body)) return false;
  const { all } = messagesIn(body);
  return all.length === 0 || all.some(isOfError);
}

function isOfError(info: Info): boolean {
  const id = info.MessageId ?? '';
  const severity = severityOf(info);
  if (isOfSuccess(info)) return false;
  return (
    (severity !== undefined && !['OK', 'Informational'].includes(severity)) || isLater(id) || /^(Base\.|$)/.test(id)
  );
}

interface Messages {
  readonly code: string | undefined;
  readonly all: readonly Info[];
  /** Whether something else stands in place of a message, or an error that does not have Redfish's form. */
  readonly hasOthers: boolean;
}

/** Lists the messages of an error and of the document that has it, with the error's code. */
function messagesIn(body: unknown): Messages {
  const { code, infos = [] } = errorIn(body) ?? {};
  const { '@Message.ExtendedInfo': own, error } = body as Record<string, unknown>;
  const listed = [...infos, ...(ExtendedInfos.parse(own) ?? [])];
  const all = listed.filter((info) => info.MessageId || info.Message || info.MessageSeverity || info.Severity);
  const isOther = error != null && !ErrorBody.safeParse(body).success;
  return { code: code ?? undefined, all, hasOthers: isOther || all.length < listed.length };
}

/**
 * Whether a monitor's answer says that the work has ended well. It asks for more than `saysSuccess`: news has severity `OK`,
 * too (DMTF's registries ResourceEvent and HeartbeatEvent), and so has work that is under way.
 */
export function saysEnd(body: unknown): boolean {
  const { all, hasOthers } = messagesIn(body);
  const isEnd = (info: Info): boolean => successIds.test(info.MessageId ?? '') || namesEnd(info);
  const isBad = hasOthers || all.some((info) => /critical/i.test(severityOf(info) ?? ''));
  return saysSuccess(body) && !isBad && (all.length === 0 || all.some(isEnd));
}

/** Names of message ids that say an end, and texts that do. */
const endWords =
  /(succe(ss|eded)|successful(ly)?|completed?(ok|warning)?|ended|finished|done|applied|installed|updated)$/i;
const endText = /\b(completed|ended|finished|succeeded|updated|installed|applied|done)\b/i;
/** Words, in both, for a part of the work, and for work that has not ended, or not well. */
const partWords =
  /partial|transfer|upload|download|verif|validat|stag(e|ing)|prepar|not|\bun|incomplete|progress|\bwill\b|\bafter\b|until|schedul|\d ?%|fail|error|abort|cancel|reject/i;

function namesEnd({ MessageId, Message: text }: Info): boolean {
  const name = MessageId?.split(/[.:]/).at(-1) ?? '';
  if (partWords.test(name) || partWords.test(text ?? '')) return false;
  return endWords.test(name) || endText.test(text ?? '');
}

/** Whether a message beside one of success takes nothing back, by its severity: Dell has `Informational`. */
function isHarmless(info: Info): boolean {
  return ['OK', 'Informational', 'Warning'].includes(severityOf(info) ?? '') && !isOfOpenWork(info.MessageId ?? '');
}

/** Judges a message of an answer to a request itself: whatever has severity OK is no refusal. */
function isOfSuccess(info: Info): boolean {
  const id = info.MessageId ?? '';
  const severity = severityOf(info);
  if (successIds.test(id)) return true;
  if (endedIds.test(id)) return severity === undefined || ['OK', 'Warning'].includes(severity);
  return severity === 'OK' && !isOfOpenWork(id);
}

/** Whether a message is of work that goes on, or that is to be asked for later. */
function isOfOpenWork(id: string): boolean {
  return notDoneIds.test(id) || isLater(id);
}

function isLater(id: string): boolean {
  return laterIds.some((later) => later.id === id.split('.').at(-1));
}
