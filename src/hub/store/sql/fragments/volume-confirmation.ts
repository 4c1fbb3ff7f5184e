/** SQL: whether the record (alias `d`) confirms the removal of the volume of its database. */
export const CONFIRMS_REMOVAL = `d.source_config #>> '{database,enabled}' = 'false'
  AND d.source_config #>> '{database,remove_volume}' = 'true'`;

/** SQL: source_config of the record (alias `d`) without the confirmation. */
export const DROP_CONFIRMATION = "d.source_config #- '{database,remove_volume}'";
