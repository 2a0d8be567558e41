import { describeChanges, type MeasuredBoot } from '#conductor/model/tpm/measured-boot.ts';
import type { BootEvent } from '#conductor/model/tpm/read-event-log.ts';
import type { BootVerdict } from '#shared/wire/attestation.ts';

/** Measurements of a machine that boots exactly what it was served. */
export interface PredictedBoot {
  /** Authenticode digest, hex: the only program that the firmware starts. */
  readonly program: string;
  /** All that PCRs 8 and 9 are extended by, in order; `subject` names it to people. */
  readonly events: readonly { readonly pcr: number; readonly digest: string; readonly subject: string }[];
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
  readonly known: { readonly ekPublic: string; readonly acceptedBoot: MeasuredBoot | null } | undefined;
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
  if ('problem' in boot) {
    unproved.push(boot.problem);
  } else {
    const accepted = known?.acceptedBoot;
    const program = 'problem' in facts.predicted ? undefined : facts.predicted.program;
    if (accepted) changes.push(...describeChanges(accepted, boot.measured, program));
    const served = judgeServed(boot, facts.predicted);
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

function judgeServed(
  { measured, events }: ProvedBoot,
  predicted: BootFacts['predicted'],
): { readonly changes: readonly string[]; readonly unproved: readonly string[] } {
  if ('problem' in predicted) return { changes: [], unproved: [predicted.problem] };
  const isServed = measured.programs.includes(predicted.program);
  if (!isServed) return { changes: ['the boot loader is not the one that was served (PCR 4)'], unproved: [] };
  const others = measured.programs.length - 1;
  return {
    changes: differences(events, predicted),
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
    const at = expected.findIndex(({ digest }, index) => seen[index]?.digest !== digest);
    const other = expected[at];
    if (other) return [`${other.subject} of the boot medium is not what was served (PCR ${pcr})`];
    return seen.length > expected.length ? [`the boot loader has done more than was served (PCR ${pcr})`] : [];
  });
}
