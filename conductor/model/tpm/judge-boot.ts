import { describeChanges, type MeasuredBoot } from '#conductor/model/tpm/measured-boot.ts';
import type { BootEvent } from '#conductor/model/tpm/read-event-log.ts';
import type { BootVerdict } from '#shared/wire/attestation.ts';

/** Measurements of a machine that boots exactly what it was served. */
export interface PredictedBoot {
  /** Authenticode digests, hex: what is started, in this order. */
  readonly programs: readonly { readonly name: string; readonly sha256: string }[];
  /** The kernel's, which follows under Secure Boot, as often as it is checked. */
  readonly kernel: string;
  /** All that PCRs 8 and 9 are extended by, in order: one of the digests each; `subject` names it to people. */
  readonly events: readonly { readonly pcr: number; readonly digests: readonly string[]; readonly subject: string }[];
}

/** One boot, as its quote and its log prove it. */
interface ProvedBoot {
  readonly measured: MeasuredBoot;
  readonly events: readonly BootEvent[];
}

/** Everything that a boot is judged by. */
export interface BootFacts {
  /** `TPM2B_PUBLIC` of the endorsement key of the machine that asks, base64. */
  readonly ekPublic: string;
  /** Identity that the node is known by; `undefined` = this is the first time. */
  readonly known:
    | {
        readonly ekPublic: string;
        readonly acceptedBoot: MeasuredBoot | null;
        /** Person who has accepted that boot; null = nobody, it was the first. */
        readonly acceptedBy: string | null;
      }
    | undefined;
  /** A sentence where nobody vouches for the TPM, no vendor and no person who has accepted it, and somebody has to. */
  readonly stranger?: string | undefined;
  /** A sentence's end where there is no log, or one that does not fit the quote: `it has no event log`. */
  readonly boot: ProvedBoot | { readonly problem: string };
  /** A sentence where it can't be predicted: `iPXE does not measure what it loads`. */
  readonly predicted: PredictedBoot | { readonly problem: string };
}

/**
 * Judges one boot: `trusted` only if all of it is proved, `changed` with what changed, else `unknown` with what is not
 * proved. Pure.
 */
export function judgeBoot(facts: BootFacts): { readonly verdict: BootVerdict; readonly reasons: string[] } {
  const { known, boot } = facts;
  const changes: string[] = [];
  const unproved: string[] = [];
  if (known && known.ekPublic !== facts.ekPublic)
    changes.push('it is another TPM than the one that the node is known by: another mainboard, or another machine');
  if ((known?.acceptedBy ?? null) === null && facts.stranger !== undefined) unproved.push(facts.stranger);
  if ('problem' in boot) {
    unproved.push(boot.problem);
  } else {
    const accepted = known?.acceptedBoot;
    if (accepted) changes.push(...describeChanges(accepted, boot.measured, servedPrograms(facts.predicted)));
    const served = judgeServed(boot, facts.predicted, known?.acceptedBy == null ? [] : (accepted?.programs ?? []));
    changes.push(...served.changes);
    unproved.push(...served.unproved);
  }
  if (changes.length > 0) return { verdict: 'changed', reasons: [...changes, ...unproved] };
  return { verdict: unproved.length > 0 ? 'unknown' : 'trusted', reasons: unproved };
}

/** The sentence by which a boot is refused that is not trusted. Pure. */
export function describeDistrust({ verdict, reasons }: { verdict: BootVerdict; reasons: readonly string[] }): string {
  return `the boot is not trusted (${verdict}): ${reasons.join('; ')}`;
}

function servedPrograms(predicted: BootFacts['predicted']): string[] {
  return 'problem' in predicted ? [] : [...predicted.programs.map(({ sha256 }) => sha256), predicted.kernel];
}

/** @param vouched programs that a person has accepted beside what was served, such as an agent of the firmware's own */
function judgeServed(
  { measured, events }: ProvedBoot,
  predicted: BootFacts['predicted'],
  vouched: readonly string[],
): { readonly changes: readonly string[]; readonly unproved: readonly string[] } {
  if ('problem' in predicted) return { changes: [], unproved: [predicted.problem] };
  const { programs, kernel } = predicted;
  // the last: a boot option may have been tried before
  const start = measured.programs.lastIndexOf(programs[0]?.sha256 ?? '');
  if (start === -1) return { changes: ['the boot loader is not the one that was served (PCR 4)'], unproved: [] };
  const [before, started] = [measured.programs.slice(0, start), measured.programs.slice(start)];
  const other = programs.find(({ sha256 }, index) => started[index] !== sha256);
  if (other) return { changes: [`${other.name} is not the one that was served (PCR 4)`], unproved: [] };
  const more = started.slice(programs.length).filter((sha256) => sha256 !== kernel);
  const others = before.filter((sha256) => !vouched.includes(sha256)).length;
  return {
    changes: [
      ...(more.length === 0 ? [] : ['the boot loader has started a program that was not served (PCR 4)']),
      ...differences(events, predicted),
    ],
    unproved:
      others === 0
        ? []
        : [`the firmware has started ${others} more programs than the boot loader that was served (PCR 4)`],
  };
}

/** Compares one event after the other, so that the first other one can be named. */
function differences(events: readonly BootEvent[], predicted: PredictedBoot): string[] {
  return [8, 9].flatMap((pcr) => {
    const seen = events.filter((event) => event.pcr === pcr);
    const expected = predicted.events.filter((event) => event.pcr === pcr);
    const at = expected.findIndex(({ digests }, index) => !digests.includes(seen[index]?.digest ?? ''));
    const other = expected[at];
    if (other) return [`${other.subject} of the boot medium is not what was served (PCR ${pcr})`];
    return seen.length > expected.length ? [`the boot loader has done more than was served (PCR ${pcr})`] : [];
  });
}
