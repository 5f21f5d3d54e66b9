import { type RawBuilder, sql } from "kysely";
import { listModalities } from "../../modalities/registry.js";

/**
 * Jobs that ended from one time on and before another, as a subquery: in two parts, since each has an
 * index by its end. The free jobs of the service's own count as well.
 */
export function endedJobs(
  since: RawBuilder<unknown>,
  until: RawBuilder<unknown> = sql`'infinity'`,
): RawBuilder<unknown> {
  const names = sql.join(listModalities().map(({ name }) => sql.lit(name)));
  const within = sql`ended_at >= ${since} AND ended_at < ${until}`;
  return sql`(SELECT * FROM jobs WHERE NOT kept AND ${within}
    UNION ALL SELECT * FROM jobs WHERE kept AND modality IN (${names}) AND ${within})`;
}
