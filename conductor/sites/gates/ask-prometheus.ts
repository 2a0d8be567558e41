import { z } from 'zod';
import type { GateQuestion } from '#conductor/model/site/health-gate.ts';
import type { GateMeans } from '#conductor/sites/gates/gate-means.ts';
import type { GateAnswer } from '#conductor/sites/strategy/rollout/judge-gates.ts';
import { askPeer } from '#shared/peers/ask-peer.ts';
import { checkOutboundUrl } from '#shared/peers/outbound-url.ts';

/** Asks a Prometheus for the value of a query now (its HTTP API v1, "Instant queries"). */

const Sample = z.tuple([z.number(), z.string()]);
const Answer = z.union([
  z.object({
    status: z.literal('success'),
    data: z.union([
      z.object({ resultType: z.literal('scalar'), result: Sample }),
      z.object({ resultType: z.literal('vector'), result: z.array(z.object({ value: Sample.optional() })) }),
      z.object({ resultType: z.enum(['matrix', 'string']) }),
    ]),
    warnings: z.array(z.string()).optional(),
  }),
  z.object({ status: z.literal('error'), errorType: z.string().optional(), error: z.string().optional() }),
]);
type Data = Extract<z.infer<typeof Answer>, { status: 'success' }>['data'];

/**
 * Asks for the one number that a gate's query must give, and compares it.
 * @throws AppError for an address that the rules refuse, or an answer above its limits; undici's own errors
 */
export async function askPrometheus(
  { prometheus = '', query = '', at_least: least, at_most: most }: GateQuestion,
  { rules, agent, signal }: GateMeans,
): Promise<GateAnswer> {
  const url = checkOutboundUrl('prometheus', `${prometheus.replace(/\/+$/, '')}/api/v1/query`, rules);
  url.searchParams.set('query', query);
  const { status, body } = await askPeer('prometheus', url, {
    who: 'Prometheus',
    method: 'GET',
    headers: { accept: 'application/json' },
    dispatcher: agent,
    signal,
  });
  const { data: answer } = Answer.safeParse(body);
  if (!answer) return notGood(`HTTP ${status}, not an answer of Prometheus`);
  if (answer.status === 'error') return notGood(`${answer.errorType ?? `HTTP ${status}`}: ${answer.error ?? 'failed'}`);
  // a part of the series was not asked, so that the number is not of all
  if (answer.warnings?.length) return notGood(`it warns: ${answer.warnings.join('; ')}`);
  return judgeValue(readValue(answer.data), { least, most });
}

function notGood(said: string): GateAnswer {
  return { isGood: false, said };
}

/** @returns the number as Prometheus wrote it, or why there is not one */
function readValue(data: Data): { readonly value: string } | { readonly why: string } {
  if (data.resultType === 'scalar') return { value: data.result[1] };
  if (data.resultType !== 'vector') return { why: `the query gives a ${data.resultType}, and must give one number` };
  const [first] = data.result;
  if (!first) return { why: 'the query gives no series, and must give one' };
  if (data.result.length > 1) return { why: `the query gives ${data.result.length} series, and must give one` };
  return first.value ? { value: first.value[1] } : { why: 'the query gives a histogram, and must give one number' };
}

/** Compares a value with its threshold. NaN and infinite values, as after a division by nothing, are not good. */
function judgeValue(
  found: ReturnType<typeof readValue>,
  { least, most }: { readonly least: number | undefined; readonly most: number | undefined },
): GateAnswer {
  if ('why' in found) return notGood(found.why);
  const value = Number(found.value);
  if (found.value.trim() === '' || !Number.isFinite(value)) return notGood(`the value is ${found.value}, not a number`);
  if (least !== undefined && value < least) return notGood(`the value is ${found.value}, below at_least ${least}`);
  if (most !== undefined && value > most) return notGood(`the value is ${found.value}, above at_most ${most}`);
  return { isGood: least !== undefined || most !== undefined, said: `the value is ${found.value}` };
}
