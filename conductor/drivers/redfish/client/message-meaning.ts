import type { z } from 'zod';
import { bmcMessage, errorIn, laterIds } from '#conductor/drivers/redfish/client/errors.ts';
import { ErrorBody, ExtendedInfos, type Message, OldError } from '#conductor/drivers/redfish/client/schemas.ts';

/** Judges what the messages in an answer of good status say: success, an error, or nothing. */

type Info = Pick<z.infer<typeof Message>, 'MessageId' | 'MessageSeverity' | 'Severity' | 'Message'>;

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

/** One of the known names says it, with no error beside it; else each message has to. */
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
  const severity = info.MessageSeverity ?? info.Severity;
  if (isOfSuccess(info)) return false;
  return (severity != null && !['OK', 'Informational'].includes(severity)) || isLater(id) || /^(Base\.|$)/.test(id);
}

interface Messages {
  readonly code: string | undefined;
  readonly all: readonly Info[];
  /** Whether there is something else in their place, or an error that is none of Redfish's. */
  readonly hasOthers: boolean;
}

/** An error's code, and the messages of it and of the document. */
function messagesIn(body: unknown): Messages {
  const { code, infos = [] } = errorIn(body) ?? {};
  const { '@Message.ExtendedInfo': own, error } = body as Record<string, unknown>;
  const listed = [...infos, ...(ExtendedInfos.parse(own) ?? [])];
  const all = listed.filter((info) => info.MessageId || info.Message || info.MessageSeverity || info.Severity);
  const isOther = error != null && !ErrorBody.safeParse(body).success;
  return { code: code ?? undefined, all, hasOthers: isOther || all.length < listed.length };
}

/**
 * Whether a monitor's answer says that the work has ended well: as `saysSuccess`, but severity `OK` alone is that of news, too
 * (DMTF's registries ResourceEvent and HeartbeatEvent), and of work that is under way.
 */
export function saysEnd(body: unknown): boolean {
  const { all, hasOthers } = messagesIn(body);
  const isEnd = (info: Info): boolean => successIds.test(info.MessageId ?? '') || namesEnd(info);
  const isBad = hasOthers || all.some((info) => /critical/i.test(info.MessageSeverity ?? info.Severity ?? ''));
  return saysSuccess(body) && !isBad && (all.length === 0 || all.some(isEnd));
}

/** Pattern of words for an end, in ids and in texts; of those for a part of the work, or for what has not ended, or not well. */
const endWords =
  /(succe(ss|eded)|successful(ly)?|completed?(ok|warning)?|ended|finished|done|applied|installed|updated)$/i;
const endText = /\b(completed|ended|finished|succeeded|updated|installed|applied|done)\b/i;
const partWords =
  /partial|transfer|upload|download|verif|validat|stag(e|ing)|prepar|not|\bun|incomplete|progress|\bwill\b|\bafter\b|until|schedul|\d ?%|fail|error|abort|cancel|reject/i;

function namesEnd({ MessageId, Message: text }: Info): boolean {
  const name = MessageId?.split(/[.:]/).at(-1) ?? '';
  if (partWords.test(name) || partWords.test(text ?? '')) return false;
  return endWords.test(name) || endText.test(text ?? '');
}

/** Whether a message beside one of success takes nothing back, by its severity: Dell has `Informational`. */
function isHarmless(info: Info): boolean {
  const severity = info.MessageSeverity ?? info.Severity ?? '';
  return ['OK', 'Informational', 'Warning'].includes(severity) && !isOfOpenWork(info.MessageId ?? '');
}

/** Judges a message of an answer to a request itself: whatever has severity OK is no refusal. */
function isOfSuccess(info: Info): boolean {
  const id = info.MessageId ?? '';
  const severity = info.MessageSeverity ?? info.Severity ?? undefined;
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
